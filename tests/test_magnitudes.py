"""Columns and weights of extreme sizes, and columns far from zero: of every public estimator."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from sarlearn import (
    RepeatedSARClassifier,
    SARClassifier,
    SAREMClassifier,
    inspection,
)
from sarlearn._engine.newton import cholesky
from sarlearn._engine.rows import moderate
from sarlearn.priors import BestBinEstimator, compare_priors
from sarlearn.priors._scores import out_of_fold_scores
from table_data import sarem_of_table
from test_sklearn_checks import public_estimators, reads_arrays

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning"),
]

N = 300  # from 200 rows and 20 labels on, learners take a second look
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4))
Y = RNG.random(N) < expit(X @ [0.5, 1.5, -1.5, 1.0])
E = expit(X[:, 0])
S = Y & (RNG.random(N) < E)
VISITS = np.column_stack([S, S & (np.arange(N) % 3 > 0)])
# By themselves they deal folds by the values of rows, and a column in other units deals others.
FOLDS = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, S))
SETTINGS = {
    "cv": FOLDS,
    "prior_estimator": BestBinEstimator(cv=FOLDS, random_state=0),
    "propensity_features": [0],
    "learner": SARClassifier([0]),  # with no column named, other folds move it by .07
    "random_state": 0,
}


def estimators() -> list:
    found = []
    for kind in filter(reads_arrays, public_estimators()):
        model = kind()
        settings = SETTINGS
        if kind.__name__ == "MultiSCARClassifier":  # groups rows by equal values
            settings = settings | {"propensity_features": ()}
        known = model.get_params()
        found.append(model.set_params(**{k: v for k, v in settings.items() if k in known}))
    return found


EVERY = pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)


def fitted(model, X, **given):
    name = type(model).__name__
    if name.startswith("KnownPropensity"):
        given["propensity"] = E
    return clone(model).fit(X, VISITS if name.startswith("Repeated") else S, **given)


@cache
def plain_prior(model) -> float:
    """Of the columns as they are."""
    return fitted(model, X).class_prior_


def refuses(model, X) -> bool:
    """Trees take tiny values for zero, and huge ones for infinity."""
    name = type(model).__name__
    size = abs(X[:, [0]]).max()
    if name not in ("SARClassifier", "LearnerPrior") or 1e-35 < size < 1e300:
        return False
    with pytest.raises(ValueError, match="Multiply the column by a power of ten"):
        fitted(model, X)
    return True


def is_sound(model, X) -> bool:
    """Whether all numbers are probabilities."""
    found = [np.array([model.class_prior_])]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(X))
    if hasattr(model, "predict_propensity"):
        found.append(model.predict_propensity(X))
    return all(((values >= 0) & (values <= 1)).all() for values in found)


# Other folds of these rows: eight draws gave class priors from .541 to .577.
OTHER_FOLDS = 0.04


def follows_values(model) -> bool:
    """Whether the values of a row say in which fold it is."""
    return type(model).__name__ in ("SARClassifier", "LearnerPrior")


def with_column(factor: float, offset: float = 0.0) -> np.ndarray:
    out = X.copy()
    out[:, 0] = out[:, 0] * factor + offset
    return out


def test_estimators_are_all_there():
    assert len(estimators()) >= 16


@EVERY
def test_huge_columns(model):
    huge = with_column(1e250)
    found = fitted(model, huge)
    assert is_sound(found, huge)
    # Of most methods nothing changes; of others the penalty vanishes, or a rank among equals.
    tolerance = OTHER_FOLDS if follows_values(model) else 0.02
    assert found.class_prior_ == pytest.approx(plain_prior(model), abs=tolerance)


@EVERY
@pytest.mark.parametrize("factor", [1e-200, 1e-310])
def test_tiny_columns(model, factor):
    tiny = with_column(factor)
    if refuses(model, tiny):
        return
    found = fitted(model, tiny)
    assert is_sound(found, tiny)
    if not hasattr(found, "predict_proba"):
        assert found.class_prior_ == pytest.approx(plain_prior(model), abs=0.02)


@EVERY
def test_the_largest_numbers_there_are(model):
    largest = np.clip(X, -1, 1) * 1.7e308
    assert refuses(model, largest) or is_sound(fitted(model, largest), largest)


@EVERY
def test_a_column_far_from_zero_changes_nothing(model):
    far = fitted(model, with_column(1.0, 2_460_000.0)).class_prior_
    tolerance = 0.02 if type(model).__name__ == "DEDPUL" else 1e-3  # which smooths ranks
    tolerance = OTHER_FOLDS if follows_values(model) else tolerance
    assert far == pytest.approx(plain_prior(model), abs=tolerance)


@EVERY
def test_sparse_columns_of_extreme_sizes(model):
    zeros = X * (np.abs(X) > 0.7)
    zeros[:, 0] = X[:, 0]  # no two rows are equal: the folds of copies follow their values
    plain = fitted(model, sparse.csr_array(zeros)).class_prior_
    for factor in (1e200, 1e-200):
        scaled = sparse.csr_array(zeros * factor)
        if refuses(model, scaled):
            continue
        found = fitted(model, scaled)
        assert is_sound(found, scaled)
        if not hasattr(found, "predict_proba"):  # penalties of learners are in the user's units
            tolerance = OTHER_FOLDS if follows_values(model) else 0.03
            assert found.class_prior_ == pytest.approx(plain, abs=tolerance)


@EVERY
def test_a_date_is_refused_by_name(model):
    table = pd.DataFrame(X, columns=list("abcd"))
    table["b"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(N), unit="D")
    if type(model).__name__ in ("SARClassifier", "LearnerPrior"):  # which read tables
        assert 0 < fitted(model, table).class_prior_ < 1
        return
    with pytest.raises(ValueError, match=r"Column 'b' of X holds dates .* needs numbers"):
        fitted(model, table)


def test_an_array_of_dates_is_refused():
    dates = np.arange(N).astype("datetime64[D]")[:, None]
    with pytest.raises(ValueError, match="X holds dates or times"):
        SAREMClassifier([0]).fit(dates, S)
    with pytest.raises(ValueError, match="X holds dates or times"):
        compare_priors(dates, S)


@EVERY
def test_weights_too_small_to_compute_with_are_refused(model):
    if not has_fit_parameter(model, "sample_weight"):
        pytest.skip("takes no weights")
    with pytest.raises(ValueError, match=r"largest sample_weight is 1e-280; .* Divide them all"):
        fitted(model, X, sample_weight=np.full(N, 1e-280))


def test_weights_of_many_magnitudes():
    weight = 10.0 ** np.linspace(-12, 12, N)
    model = SARClassifier([0]).fit(X, S, sample_weight=weight)
    assert is_sound(model, X)
    assert model.class_prior_ >= np.average(S, weights=weight)


def test_large_weights_of_several_chances():
    model = RepeatedSARClassifier([0]).fit(X, VISITS, sample_weight=np.full(N, 1e90))
    assert is_sound(model, X)


def test_boosted_trees_refuse_weights_beyond_single_precision():
    model = SARClassifier([0])
    with pytest.raises(ValueError, match=r"largest sample_weight is 1e\+90; .* up to 1e\+30"):
        fitted(model, X, sample_weight=np.full(N, 1e90))
    assert is_sound(fitted(model, X, sample_weight=np.full(N, 1e29)), X)


def test_boosted_trees_name_the_column():
    with pytest.raises(ValueError, match=r"column 0 is 3e-.*from 1e-35 to 1e\+300"):
        fitted(SARClassifier([0]), with_column(3e-310 / np.abs(X[:, 0]).max()))


@pytest.mark.parametrize("factor", [1e200, 1e-200, 1e-310])
def test_tables(factor):
    table = pd.DataFrame(X, columns=list("abcd"))
    plain = sarem_of_table(["a"]).fit(table, S)
    table["a"] *= factor
    scaled = sarem_of_table(["a"]).fit(table, S)
    prior = plain[-1].class_prior_
    assert scaled[-1].class_prior_ == pytest.approx(prior, abs=1e-4)
    np.testing.assert_allclose(scaled.predict_proba(table)[:, 1].mean(), prior, 1e-3)


def test_inspection_of_huge_columns():
    huge = with_column(1e200)
    test = inspection.scar_test(huge, S, [0], n_draws=19, random_state=0)
    same = inspection.scar_test(X, S, [0], n_draws=19, random_state=0)
    assert test.statistic == pytest.approx(same.statistic, rel=1e-6)
    assert test.p_value == same.p_value
    assert inspection.select_propensity_features(huge, S, [0, 1]).features == ["x0"]
    model = SAREMClassifier([0]).fit(huge, S)
    assert inspection.relative_prevalence(model, huge, S, X[:, 1] > 0) is not None


def test_a_coefficient_that_is_no_number_is_refused():
    model = RepeatedSARClassifier(C=np.inf)  # a penalty would hold it at a number
    with pytest.raises(ValueError, match=r"values of about \S+e-31\d: its coefficient is too"):
        model.fit(with_column(1e-310), VISITS)


def test_scar_test_does_not_feel_scales():
    plain, tiny = (
        inspection.scar_test(with_column(factor), S, [0], n_draws=19, random_state=0)
        for factor in (1.0, 1e-310)
    )
    assert tiny.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert tiny.p_value == plain.p_value


def test_scores_do_not_feel_scales():
    plain = out_of_fold_scores(X, S, cv=FOLDS)
    for factor in (1e200, 1e-200, 1e-310):
        found = out_of_fold_scores(X * factor, S, cv=FOLDS)
        np.testing.assert_allclose(found, plain, atol=1e-6)


def test_moderate_leaves_ordinary_columns_alone():
    assert moderate(X) is X
    out = moderate(np.column_stack([X[:, 0], X[:, 1] * 2.0**800, np.full(N, np.nan)]))
    np.testing.assert_array_equal(out[:, 0], X[:, 0])
    np.testing.assert_array_equal(out[:, 1] / X[:, 1], (out[:, 1] / X[:, 1])[0])
    assert 1 <= np.abs(out[:, 1]).max() < 2


def test_what_is_too_large_for_a_curvature_is_said():
    with pytest.raises(ValueError, match="values of columns, or weights, are too large"):
        cholesky(np.diag([np.inf, 1.0]), np.ones(2))
