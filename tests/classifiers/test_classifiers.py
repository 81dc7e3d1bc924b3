"""The learners: scikit-learn's contract, its ecosystem, any base model, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import make_pu
from sarlearn import KnownPropensityClassifier, MultiSCARClassifier, SAREMClassifier
from sarlearn.labelling import ConstantLabelling, LogisticLabelling, ProductLabelling, label


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mechanism", ["constant", "one attribute", "product"])
def test_each_learner_recovers_from_biased_labels(mechanism, seed):
    """Our own check in place of scikit-learn's accuracy check: near what full labels give."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, 6))
    X[:, :2] = X[:, :2] > 0
    eta = X @ [0.5, -0.5, 3, -3, 2, 1]
    y = rng.random(4000) < 1 / (1 + np.exp(-eta))
    how = {
        "constant": ConstantLabelling(0.4),
        "one attribute": LogisticLabelling([0], coef=2.0, intercept=-1.5),
        "product": ProductLabelling([0, 1], high=0.9, low=0.4),
    }[mechanism]
    s, e = label(X, y, how, random_state=seed)
    supervised = LogisticRegression().fit(X, y).score(X, y)
    naive = LogisticRegression().fit(X, s)
    assert naive.score(X, y) < supervised - 0.1
    columns = {"constant": [], "one attribute": [0], "product": [0, 1]}[mechanism]
    models = [
        SAREMClassifier(columns).fit(X, s),
        SAREMClassifier(columns, stop="fixed_point", C=10).fit(X, s),
        KnownPropensityClassifier().fit(X, s, propensity=e),
        KnownPropensityClassifier("weighting").fit(X, s, propensity=e),
        MultiSCARClassifier(columns).fit(X, s),
    ]
    for model in models:
        assert accuracy_score(y, model.predict(X)) > supervised - 0.03
        assert abs(model.class_prior_ - y.mean()) < 0.06
        if hasattr(model, "predict_propensity"):
            assert np.abs(model.predict_propensity(X) - e).mean() < 0.08


def test_sar_beats_scar_where_labels_are_biased():
    data = make_pu(4000, 6, scale=3)
    sar, scar = SAREMClassifier(data.columns), SAREMClassifier()
    fits = [model.fit(data.X, data.s) for model in (sar, scar)]
    accuracy = [accuracy_score(data.y, model.predict(data.X)) for model in fits]
    assert accuracy[0] > accuracy[1] + 0.02
    assert abs(sar.class_prior_ - data.y.mean()) < abs(scar.class_prior_ - data.y.mean()) / 2


def test_posterior():
    data = make_pu()
    model = SAREMClassifier(data.columns).fit(data.X, data.s)
    f, e = model.predict_proba(data.X)[:, 1], model.predict_propensity(data.X)
    posterior = model.predict_posterior(data.X, data.s)
    np.testing.assert_array_equal(posterior[data.s], 1)
    hidden = ~data.s
    np.testing.assert_allclose(posterior[hidden], (f * (1 - e) / (1 - f * e))[hidden], rtol=1e-9)
    # Total probability: the expected positives are those labelled plus those hidden.
    chance = f * e
    np.testing.assert_allclose(chance + (1 - chance) * f * (1 - e) / (1 - chance), f, rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [((0, 1), int), ((-1, 1), int), ((False, True), bool), (("no", "yes"), str)],
)
def test_labels_in_any_two_values(values, dtype):
    data = make_pu(300)
    plain = SAREMClassifier(data.columns).fit(data.X, data.s)
    s = np.array(values)[data.s.astype(int)]
    model = SAREMClassifier(data.columns).fit(data.X, s)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert set(model.predict(data.X)) <= set(values)
    np.testing.assert_array_equal(
        model.predict_posterior(data.X, s), plain.predict_posterior(data.X, data.s)
    )


# -- the ecosystem ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_with_names(make):
    data = make_pu(400, 4)
    names = ["age", "insured", "bmi", "glucose"]
    table = make(dict(zip(names, data.X.T, strict=True)))
    model = SAREMClassifier(["insured", "age"]).fit(table, data.s)
    plain = SAREMClassifier([1, 0]).fit(data.X, data.s)
    assert list(model.feature_names_in_) == names
    np.testing.assert_allclose(model.predict_propensity(table), plain.predict_propensity(data.X))
    wrong = make(dict(zip(["age", "insured", "bmi", "sugar"], data.X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(wrong)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_is_dense(make, dtype):
    data = make_pu(1000, 4, discrete=True)
    X = data.X.astype(dtype)
    dense = SAREMClassifier(data.columns).fit(X, data.s)
    model = SAREMClassifier(data.columns).fit(make(X), data.s)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        model.predict_posterior(make(X), data.s), dense.predict_posterior(X, data.s), rtol=1e-6
    )
    strata = MultiSCARClassifier([0])
    np.testing.assert_allclose(
        strata.fit(make(X), data.s).predict_proba(make(X)),
        strata.fit(X, data.s).predict_proba(X),
        rtol=1e-6,
    )


def test_clone_and_pickle():
    data = make_pu(300)
    model = SAREMClassifier(data.columns, C=2.0).fit(data.X, data.s)
    assert clone(model).C == 2.0
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


def test_pipeline_and_column_transformer():
    data = make_pu(400, 4)
    table = pd.DataFrame(data.X * 10, columns=list("abcd"))
    scale = ColumnTransformer(
        [("scale", StandardScaler(), list("abcd"))], verbose_feature_names_out=False
    ).set_output(transform="pandas")
    model = make_pipeline(scale, SAREMClassifier(["a", "b"])).fit(table, data.s)
    assert roc_auc_score(data.y, model.predict_proba(table)[:, 1]) > 0.85
    np.testing.assert_array_equal(model[-1].propensity_features_, [0, 1])


def test_grid_search():
    data = make_pu(400)
    search = GridSearchCV(
        SAREMClassifier(data.columns), {"C": [0.1, 10.0], "decay": [0.8, 1.0]}, cv=2
    )
    assert search.fit(data.X, data.s).best_params_.keys() == {"C", "decay"}


def test_metadata_routing_of_weights_and_propensity():
    data = make_pu(400)
    weight = data.rng.integers(1, 5, 400).astype(float)
    with config_context(enable_metadata_routing=True):
        model = KnownPropensityClassifier().set_fit_request(propensity=True, sample_weight=True)
        model.set_score_request(sample_weight=True, propensity=True)
        routed = cross_validate(
            model,
            data.X,
            data.s,
            params={"propensity": data.e, "sample_weight": weight},
            cv=2,
            return_estimator=True,
            return_indices=True,
        )
        for fitted, rows in zip(routed["estimator"], routed["indices"]["train"], strict=True):
            direct = KnownPropensityClassifier().fit(
                data.X[rows], data.s[rows], propensity=data.e[rows], sample_weight=weight[rows]
            )
            np.testing.assert_allclose(fitted.coef_, direct.coef_)
        sar = SAREMClassifier(data.columns).set_fit_request(sample_weight=True)
        sar.set_score_request(sample_weight=True)
        scores = cross_validate(sar, data.X, data.s, params={"sample_weight": weight}, cv=2)
        assert np.isfinite(scores["test_score"]).all()


def test_calibrated_classifier():
    data = make_pu(400)
    model = CalibratedClassifierCV(SAREMClassifier(data.columns), cv=2).fit(data.X, data.s)
    assert model.predict_proba(data.X).shape == (400, 2)


# -- any base model -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(
            max_iter=20, learning_rate=0.3, max_leaf_nodes=6, max_bins=32, random_state=0
        ),
        RandomForestClassifier(10, min_samples_leaf=10, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["boosting", "forest", "pipeline"],
)
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.NotConvergedWarning")
def test_any_classifier(base):
    data = make_pu(800, scale=3)
    model = SAREMClassifier(data.columns, classifier=base, max_iter=8)
    model.fit(data.X, data.s)
    naive = clone(base).fit(data.X, data.s)
    assert accuracy_score(data.y, model.predict(data.X)) > naive.score(data.X, data.y) + 0.02
    assert not hasattr(model, "coef_")
    assert model.predict_propensity(data.X).shape == (800,)
    known = KnownPropensityClassifier(classifier=base, max_iter=8)
    known.fit(data.X, data.s, propensity=data.e)
    assert accuracy_score(data.y, known.predict(data.X)) > naive.score(data.X, data.y) + 0.02


def test_any_propensity_estimator():
    data = make_pu(1500, scale=3)
    tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
    model = SAREMClassifier(data.columns, propensity_estimator=tree, max_iter=60)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.set_params(max_iter=3).fit(data.X, data.s)
    model.set_params(max_iter=300, tol=1e-3).fit(data.X, data.s)
    assert np.abs(model.predict_propensity(data.X) - data.e).mean() < 0.15
    assert hasattr(model, "coef_")
    assert not hasattr(model, "propensity_coef_")


def test_logistic_regression_as_base_model_is_the_fast_path():
    """The generic loop, rows stored twice, against the fused one."""
    data = make_pu(500, discrete=True)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    for stop, tol, atol in (("slope", None, 1e-3), ("fixed_point", 1e-9, 1e-5)):
        fast = SAREMClassifier(data.columns, stop=stop, tol=tol).fit(data.X, data.s)
        slow = SAREMClassifier(
            data.columns, stop=stop, tol=tol, classifier=exact, propensity_estimator=exact,
            max_iter=5000,
        ).fit(data.X, data.s)  # fmt: skip
        np.testing.assert_allclose(
            slow.predict_proba(data.X), fast.predict_proba(data.X), atol=atol
        )
        if stop == "slope":
            assert abs(slow.n_iter_ - fast.n_iter_) <= 1
        last = slow.history_["log_likelihood"][-1], fast.history_["log_likelihood"][-1]
        assert last[0] == pytest.approx(last[1], rel=1e-3)


def test_base_models_work_on_sparse_rows():
    data = make_pu(400)
    base = LogisticRegression()
    X = sparse.csr_array(data.X)
    model = SAREMClassifier(data.columns, classifier=base).fit(X, data.s)
    dense = SAREMClassifier(data.columns, classifier=base).fit(data.X, data.s)
    np.testing.assert_allclose(model.predict_proba(X), dense.predict_proba(data.X), atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"classifier": KNeighborsClassifier()}, "classifier=KNeighborsClassifier takes no sample"),
        ({"classifier": LinearSVC()}, "classifier=LinearSVC has no predict_proba"),
        ({"propensity_estimator": LinearSVC()}, "propensity_estimator=LinearSVC has no"),
        (
            {"classifier": make_pipeline(StandardScaler(), KNeighborsClassifier())},
            "classifier=Pipeline takes no sample_weight",
        ),
    ],
)
def test_base_models_that_cannot_serve_are_refused_by_name(parameters, message):
    data = make_pu(300)
    with pytest.raises(ValueError, match=message):
        SAREMClassifier(data.columns, **parameters).fit(data.X, data.s)


def test_base_models_where_they_make_no_sense():
    data = make_pu(300)
    with pytest.raises(ValueError, match="propensity_features is empty"):
        SAREMClassifier(propensity_estimator=LogisticRegression()).fit(data.X, data.s)
    with pytest.raises(ValueError, match="classifier is for method='em'"):
        KnownPropensityClassifier("weighting", classifier=LogisticRegression()).fit(
            data.X, data.s, propensity=0.5
        )


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"decay": 0.0},
        {"decay": 1.5},
        {"C": 0.0},
        {"C": -1.0},
        {"propensity_C": 0.0},
        {"tol": 0.0},
        {"max_iter": 0},
        {"window": 1},
        {"stop": "never"},
        {"classifier": "boosting"},
    ],
)
def test_parameters_out_of_range(parameters):
    data = make_pu(100)
    name, value = next(iter(parameters.items()))
    with pytest.raises(ValueError, match=f"'{name}' parameter of SAREMClassifier must be.*{value}"):
        SAREMClassifier(**parameters).fit(data.X, data.s)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_a_number(value):
    data = make_pu(100)
    data.X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SAREMClassifier().fit(data.X, data.s)


@pytest.mark.parametrize(
    "learner",
    [
        SAREMClassifier(),
        SAREMClassifier(stop="fixed_point"),
        KnownPropensityClassifier(),
        KnownPropensityClassifier(method="weighting"),
        MultiSCARClassifier(),
    ],
)
def test_labels_of_one_kind(learner):
    data = make_pu(100)
    for s in (np.zeros(100), np.ones(100)):
        with pytest.raises(ValueError, match="only one class"):
            clone(learner).fit(data.X, s)


def test_missing_propensity_is_said():
    data = make_pu(200)
    with pytest.warns(UserWarning, match="every positive is taken to be labelled"):
        KnownPropensityClassifier().fit(data.X, data.s)
    with pytest.raises(ValueError, match=r"below 1\. The propensities are too small"):
        KnownPropensityClassifier("weighting").fit(data.X, data.s, propensity=0.01)


def test_rows_of_weight_zero_need_no_sense():
    """Their propensity is dropped with them, and they do not influence the start."""
    data = make_pu(300)
    weight = np.ones(300)
    weight[:100] = 0
    rest = slice(100, None)
    model = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e, sample_weight=weight)
    alone = KnownPropensityClassifier().fit(data.X[rest], data.s[rest], propensity=data.e[rest])
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)


def test_warnings_with_the_remedy():
    data = make_pu(500, 3, discrete=True)
    with pytest.warns(UserWarning, match="cannot be told apart"):
        SAREMClassifier([0, 1, 2]).fit(data.X, data.s)
    s = data.s & (data.X[:, 0] == 0)
    with pytest.warns(UserWarning, match="2 of 4 configurations.*no labelled row"):
        SAREMClassifier(data.columns).fit(data.X, s)
    with pytest.warns(ConvergenceWarning, match="No convergence in 3 iterations. Raise max_iter"):
        SAREMClassifier(data.columns, max_iter=3).fit(data.X, data.s)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        SAREMClassifier(data.columns, stop="fixed_point", max_iter=5).fit(data.X, data.s)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        KnownPropensityClassifier("weighting", max_iter=1).fit(data.X, data.s, propensity=0.5)


def test_the_trivial_solution_is_pointed_out():
    """Undecayed EM from a start with c near 1 finds that every positive is labelled."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1))
    s = X[:, 0] + 0.05 * rng.standard_normal(500) > 0
    with pytest.warns(UserWarning, match="no positive is hidden"):
        SAREMClassifier(decay=1.0, C=1000.0).fit(X, s)


def test_strata():
    data = make_pu(600, 4, discrete=True)
    with pytest.raises(ValueError, match="too many distinct values"):
        MultiSCARClassifier([3]).fit(data.X, data.s)
    # One stratum never labelled, one always.
    s = np.where(data.X[:, 0] == 0, data.s, data.X[:, 1] == 0)
    with pytest.warns(UserWarning, match="1 have none and predict 0"):
        model = MultiSCARClassifier(data.columns).fit(data.X, s)
    f = model.predict_proba(data.X)[:, 1]
    bare = (data.X[:, 0] == 1) & (data.X[:, 1] == 1)
    full = (data.X[:, 0] == 1) & (data.X[:, 1] == 0)
    np.testing.assert_array_equal(f[bare], 0)
    np.testing.assert_array_equal(f[full], 1)
    np.testing.assert_array_equal(model.predict_propensity(data.X)[full], 1)
    unseen = data.X[:1].copy()
    unseen[:, 0] = 9
    assert model.predict_proba(unseen)[0, 1] == 0
    assert np.isfinite(model.decision_function(data.X)).all()
    assert s.mean() / model.class_prior_ == pytest.approx(model.label_frequency_)
