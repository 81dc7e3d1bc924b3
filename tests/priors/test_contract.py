"""Every class-prior estimator keeps scikit-learn's contract and the package's own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import LinearSVC

from sarlearn import SAREMClassifier
from sarlearn.exceptions import InputWarning
from sarlearn.priors import (
    DEDPUL,
    AlphaMax,
    AlphaMaxN,
    BestBinEstimator,
    ElkanNoto,
    KernelMean,
    LearnerPrior,
    PearsonDivergence,
    PenalizedL1,
    TIcE,
)
from sarlearn.priors._scores import out_of_fold_scores

ESTIMATORS = [
    ElkanNoto(cv=3),
    PearsonDivergence(cv=3),
    PenalizedL1(cv=3),
    KernelMean("KM1"),
    KernelMean("KM2"),
    AlphaMax(cv=3),
    AlphaMaxN(cv=3),
    TIcE(cv=3),
    DEDPUL(cv=3),
    BestBinEstimator(cv=3),
    LearnerPrior(SAREMClassifier()),
]


ids = [str(type(e).__name__) + getattr(e, "variant", "") for e in ESTIMATORS]


def seeded(estimator, **params):
    params = {**params, "random_state": 0} if "random_state" in estimator.get_params() else params
    return clone(estimator).set_params(**params)


def apart(n=300, kappa=0.4, n_labelled=120, seed=0):
    """Two Gaussians in four columns: rows, labels, classes."""
    rng = np.random.default_rng(seed)
    s = np.arange(n) < n_labelled
    y = s | (rng.random(n) < kappa)
    X = rng.normal(size=(n, 4)) + np.where(y, 1.5, -1.5)[:, None]
    order = rng.permutation(n)
    return X[order], s[order], y[order]


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_the_three_numbers_fit_together(estimator):
    X, s, _ = apart()
    fitted = seeded(estimator).fit(X, s)
    q = s.mean() * getattr(fitted, "labelled_purity_", 1.0)
    alpha, kappa, c = fitted.class_prior_, fitted.unlabelled_prior_, fitted.label_frequency_
    assert alpha == pytest.approx(q + (1 - s.mean()) * kappa)
    assert c == pytest.approx(q / alpha)
    assert isinstance(alpha, float)
    assert isinstance(fitted.clipped_, bool)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_case_control_data_report_the_share_among_the_unlabelled(estimator):
    X, s, y = apart(n=600)
    pooled = seeded(estimator).fit(X, s)
    separate = seeded(estimator, single_sample=False).fit(X, s)
    assert separate.class_prior_ == separate.unlabelled_prior_
    # PE matches another density, the others only report another number.
    tolerance = 0.1 if isinstance(estimator, PearsonDivergence) else 1e-12
    assert separate.unlabelled_prior_ == pytest.approx(pooled.unlabelled_prior_, abs=tolerance)
    assert separate.class_prior_ == pytest.approx(y[~s].mean(), abs=0.15)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_sparse_pandas_and_list_labels_are_the_dense_answer(estimator):
    pd = pytest.importorskip("pandas")
    X, s, _ = apart(n=200, n_labelled=80)
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense = seeded(estimator).fit(X, s).class_prior_
    names = [f"column {i}" for i in range(4)]
    framed = seeded(estimator).fit(pd.DataFrame(X, columns=names), pd.Series(s.astype(int)))
    assert framed.class_prior_ == pytest.approx(dense, rel=1e-9)
    assert framed.feature_names_in_.tolist() == names
    text = seeded(estimator).fit(X, np.where(s, 1, -1).tolist())
    assert text.class_prior_ == dense
    thin = seeded(estimator).fit(sp.csr_array(X), s)
    # Standardised sparse columns are not centred: the logistic scores then differ a little.
    tolerance = 0.03 if hasattr(estimator, "fit_scores") else 1e-6
    assert thin.class_prior_ == pytest.approx(dense, abs=tolerance)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_a_seed_makes_it_repeatable(estimator):
    X, s, _ = apart(n=250)
    assert (
        seeded(estimator).fit(X, s).class_prior_ == seeded(estimator).fit(X.copy(), s).class_prior_
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, s: (X, np.zeros_like(s)), "only one class.*no row is labelled"),
        (lambda X, s: (X, np.ones_like(s)), "only one class"),
        (lambda X, s: (np.where(X > 1, np.nan, X), s), "contains NaN"),
        (lambda X, s: (X[:-1], s), "inconsistent numbers of samples"),
        (lambda X, s: (X, s + 2.5 * np.arange(len(s))), "Unknown label type|two classes"),
    ],
)
def test_bad_input_ends_in_a_clear_error(estimator, spoil, message):
    X, s, _ = apart(n=80, n_labelled=35)
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(*spoil(X, s))


@pytest.mark.parametrize("estimator", ESTIMATORS[:-1], ids=ids[:-1])  # learners take such columns
def test_constant_columns_are_refused(estimator):
    X, s, _ = apart(n=80, n_labelled=35)
    with pytest.raises(ValueError, match="All 4 features of X are constant"):
        clone(estimator).fit(np.full_like(X, 3.0), s)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_few_labelled_rows_are_warned_of(estimator):
    X, s, _ = apart(n=120, n_labelled=20)
    with pytest.warns(UserWarning, match="Only 20 labelled rows") as caught:
        seeded(estimator).fit(X, s)
    messages = [str(w.message) for w in caught]
    assert sum("Only 20 labelled rows" in message for message in messages) == 1


WITH_FOLDS = [e for e in ESTIMATORS if "cv" in e.get_params()]


@pytest.mark.parametrize("estimator", WITH_FOLDS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_with_few_rows_of_a_kind_there_are_fewer_folds(estimator):
    X, s, _ = apart(n=40, n_labelled=4)
    for labels in (s, ~s):
        with pytest.warns(InputWarning, match="4 folds are used") as caught:
            fewer = seeded(estimator, cv=5).fit(X, labels)
        said = {str(w.message) for w in caught if w.category is InputWarning}
        assert [text[:10] for text in said] == ["cv=5 folds"]
        assert fewer.class_prior_ == seeded(estimator, cv=4).fit(X, labels).class_prior_
    with pytest.raises(ValueError, match=r"at least two labelled .* 1 labelled of 40"):
        clone(estimator).fit(X, np.arange(40) == 0)


@pytest.mark.parametrize("estimator", WITH_FOLDS, ids=lambda e: type(e).__name__)
def test_folds_that_do_not_cover_the_rows_are_refused(estimator):
    X, s, _ = apart(n=100, n_labelled=40)
    rows = np.arange(100)
    with pytest.raises(ValueError, match=r"rows in no test fold|in 0 test folds"):
        clone(estimator).set_params(cv=[(rows, rows[:50])]).fit(X, s)
    labelled, rest = np.flatnonzero(s), np.flatnonzero(~s)
    with pytest.raises(ValueError, match=r"needs labelled and unlabelled|lacks labelled"):
        clone(estimator).set_params(cv=[(labelled, rest), (rest, labelled)]).fit(X, s)


@pytest.mark.parametrize(
    ("estimator", "wrong"),
    [
        (KernelMean("KM3"), "'variant'"),
        (KernelMean(max_rows=5), "'max_rows'"),
        (PenalizedL1(single_sample="no"), "'single_sample'"),
        (PearsonDivergence(random_state="one"), "'random_state'"),
        (TIcE(bounds_from="root"), "'bounds_from'"),
        (DEDPUL(cv="five"), "'cv'"),
        (LearnerPrior(SAREMClassifier(decay=0)), "'decay'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_parameters_out_of_range_are_named(estimator, wrong):
    X, s, _ = apart(n=60, n_labelled=30)
    with pytest.raises(ValueError, match=wrong):
        estimator.fit(X, s)


def test_identical_rows_leave_the_kernel_without_width():
    X, s, _ = apart(n=100, n_labelled=40)
    X[5:] = 1.0
    for estimator in (KernelMean(), PearsonDivergence(), PenalizedL1()):
        with pytest.raises(ValueError, match="kernel has no width"):
            estimator.fit(X, s)


def test_scorers_without_probabilities_are_refused():
    X, s, _ = apart(n=100, n_labelled=40)
    with pytest.raises(ValueError, match="classifier with predict_proba; got LinearSVC"):
        BestBinEstimator(scorer=LinearSVC()).fit(X, s)
    with pytest.raises(ValueError, match="classifier with predict_proba"):
        out_of_fold_scores(X, s, scorer=LinearRegression())


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.linspace(0, 1.5, 100), r"lie in \[0, 1\]; row 67"),
        (np.full(100, np.nan), "row 0 has nan"),
        (np.zeros((100, 2)), "one probability per row"),
        (np.zeros(99), "99 values for 100 rows"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    _, s, _ = apart(n=100, n_labelled=40)
    with pytest.raises(ValueError, match=message):
        BestBinEstimator().fit_scores(scores, s)


def test_scores_of_a_repeated_splitter_are_averaged():
    X, s, _ = apart(n=200, n_labelled=80)
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
    splits = list(folds.split(X, s))
    both = out_of_fold_scores(X, s, cv=folds)
    halves = [out_of_fold_scores(X, s, cv=part) for part in (splits[:4], splits[4:])]
    np.testing.assert_allclose(both, np.mean(halves, axis=0))
    with pytest.raises(ValueError, match="in 2 test folds; each row must be in exactly one"):
        TIcE(cv=folds).fit(X, s)


def test_an_estimate_at_the_boundary_is_flagged_and_warned_of():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(400, 3)), np.arange(400) < 150
    with pytest.warns(UserWarning, match="BestBinEstimator: the estimate is at the boundary"):
        same = BestBinEstimator(random_state=0).fit(X, s)
    assert same.clipped_
    assert same.unlabelled_prior_ == same.class_prior_ == 1.0
    assert same.label_frequency_ == pytest.approx(s.mean())


def test_large_data_is_subsampled_by_the_kernel_mean():
    X, s, y = apart(n=3000, n_labelled=600)
    prior = KernelMean(max_rows=300, random_state=0).fit(X, s)
    assert prior.n_rows_used_ == 300
    assert prior.unlabelled_prior_ == pytest.approx(y[~s].mean(), abs=0.1)
    assert prior.label_frequency_ == pytest.approx(s.mean() / prior.class_prior_)


def test_propensity_features_by_name():
    """SAR-EM with the right attribute bears labels that favour some positives."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    X[:, 2] = X[:, 2] > 0
    y = 3 * X[:, 0] + X[:, 1] > 0
    s = y & (rng.random(4000) < np.where(X[:, 2] > 0, 0.8, 0.2))
    table = pd.DataFrame(X, columns=["a", "b", "region"])
    sar = LearnerPrior(SAREMClassifier(["region"], C=100)).fit(table, s)
    assert sar.learner_.propensity_features_.tolist() == [2]
    assert sar.class_prior_ == pytest.approx(y.mean(), abs=0.03)
    with pytest.raises(ValueError, match=r"no column 'regoin'.*region"):
        LearnerPrior(SAREMClassifier(["regoin"])).fit(table, s)
