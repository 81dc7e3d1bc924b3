"""Identifiability: a clear case, exchanged roles, flat directions, weak signal, bad input."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2
from sklearn.linear_model import LinearRegression, LogisticRegression

from sarlearn import CrossFitSARClassifier, KnownPropensityClassifier, SAREMClassifier
from sarlearn.inspection import identifiability
from sarlearn.inspection._identifiability import _explained

pytestmark = pytest.mark.usefixtures("fits_alone")


def make(slope=5.0, seed=0, n=1500):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = rng.random(n) < expit(slope * X[:, 0])
    return X, y, y & (rng.random(n) < expit(X[:, 2]))


def test_a_clear_case_is_called_one():
    X, y, s = make()
    model = SAREMClassifier([2], C=100, propensity_C=100).fit(X, s)
    found = identifiability(model, X, s, n_starts=6, random_state=0)
    assert found.identified
    assert found.problems == []
    assert str(found).startswith("Nothing speaks against identification: 6 starts agree on")
    assert found.class_prior[0] == pytest.approx(y.mean(), abs=0.04)
    assert found.rank == found.n_parameters == 6
    assert 1 <= found.condition < 1000
    # Column 0 alone tells the class, and the propensity cannot use it: exchanged roles are no
    # solution, and the climb from there leads back.
    assert found.swap_gap == pytest.approx(0, abs=1e-6)
    assert found.swap_class_prior == pytest.approx(found.class_prior[0], abs=1e-4)
    assert found.profile[0] < found.class_prior[0] < found.profile[1]
    assert found.overlap < 0.1
    assert np.all(found.certain_share > 0.1)
    assert np.all(np.diff(found.log_likelihood) <= 0)


def test_overlap_is_the_share_that_a_regression_explains():
    """Of the class score, by the propensity attributes, whatever their mean."""
    rng = np.random.default_rng(0)
    attributes = 5 + rng.normal(size=(300, 2))
    score = 3 + attributes @ [1.0, -2.0] + rng.normal(size=300)
    expected = LinearRegression().fit(attributes, score).score(attributes, score)
    assert _explained(score, attributes) == pytest.approx(expected)
    assert _explained(score, attributes[:, :0]) == 0


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.EveryColumnWarning")
@pytest.mark.parametrize("seed", range(4))
def test_the_same_attributes_on_both_sides_can_be_exchanged(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 2))
    y = rng.random(2000) < expit(2 * X[:, 0] + 1)
    s = y & (rng.random(2000) < expit(2 * X[:, 1] - 1))
    model = SAREMClassifier([0, 1], C=100, propensity_C=100).fit(X, s)
    found = identifiability(model, X, s, n_starts=4, random_state=0)
    # With the same columns and penalties the likelihood does not change when f and e change
    # places: of the two solutions, which EM finds too, each has the other's mean e as class prior.
    assert found.swap_gap == pytest.approx(0, abs=1e-6)
    joint = SAREMClassifier([0, 1], decay=1, stop="fixed_point", C=100, propensity_C=100).fit(X, s)
    both = sorted([joint.predict_proba(X)[:, 1].mean(), joint.predict_propensity(X).mean()])
    assert sorted([found.class_prior[0], found.swap_class_prior]) == pytest.approx(both, abs=1e-4)
    assert not found.identified
    assert "Exchanging the roles of class and propensity fits as well" in str(found)
    assert "the propensity attributes explain" in str(found).lower()


@pytest.mark.parametrize("seed", range(4))
def test_exchanged_roles_fit_worse_where_a_column_belongs_to_the_class_alone(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 3))
    y = rng.random(3000) < expit(3 * X[:, 0] + X[:, 1])
    s = y & (rng.random(3000) < expit(2 * X[:, 2] - 1))
    model = SAREMClassifier([0, 2], C=100, propensity_C=100).fit(X, s)
    found = identifiability(model, X, s, n_starts=4, random_state=0)
    # Exchanged, column 0 is the propensity's and column 2 the class's: a maximum of its own that
    # misses what column 1 says of the class. Twice the gap is far beyond chi-square's 95 %.
    assert found.swap_gap > 4
    assert found.class_prior[0] - found.swap_class_prior > 0.05
    assert "Exchanging the roles" not in str(found)


def test_maxima_are_near_where_the_labels_tell_them_from_the_best_by_chance_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = rng.random(300) < expit(3 * X[:, 0] + X[:, 1])
    s = y & (rng.random(300) < expit(2 * X[:, 2] - 1))
    model = SAREMClassifier([0, 2], C=100, propensity_C=100).fit(X, s)
    found = identifiability(model, X, s, n_starts=8, random_state=0)
    below = found.log_likelihood[0] - found.log_likelihood
    near = found.class_prior[below < chi2.ppf(0.95, 1) / 2]
    assert found.plausible_priors == (near.min(), near.max())
    # There are others: one more that is near, and one that is not.
    assert near.max() - near.min() > 0.1
    assert found.class_prior.min() < near.min() - 0.05


def test_weak_signal_admits_many_class_priors():
    X, _, s = make(slope=0.3)
    model = SAREMClassifier([2], C=100, propensity_C=100).fit(X, s)
    found = identifiability(model, X, s, n_starts=4, random_state=0)
    assert found.profile[1] - found.profile[0] > 0.2
    assert "how many positives are hidden is not identified" in str(found)


def test_a_repeated_column_is_a_flat_direction():
    X, _, s = make(n=600)
    X = np.column_stack([X, X[:, 0]])
    found = identifiability(SAREMClassifier([2]).fit(X, s), X, s, n_starts=2, random_state=0)
    assert found.rank == found.n_parameters - 1
    assert found.condition > 1e6
    assert "flat in 1 of 7 directions" in str(found)


def test_scar_has_nothing_to_exchange():
    X, _, s = make(n=600)
    found = identifiability(SAREMClassifier().fit(X, s), X, s, n_starts=3, random_state=0)
    assert np.isnan(found.swap_gap)
    assert len(found.strata) == 1
    assert found.plot().get_xlabel() == "class prior"


def test_several_solutions_and_bare_strata_are_told():
    X, _, s = make(n=600)
    model = SAREMClassifier([2]).fit(X, s)
    found = identifiability(model, X, s, n_starts=2, random_state=0)
    found.plausible_priors = (0.3, 0.5)
    found.certain_share = np.array([0.0, 0.2, 0.3, 0.3, 0.4])
    assert "Several solutions fit equally well, with 30.0% to 50.0% positives" in str(found)
    assert "In 1 of 5 strata of the propensity no row is a sure positive" in str(found)
    assert len(found.plot().lines) >= 2


def test_bad_input_is_named():
    X, _, s = make(n=300)
    model = SAREMClassifier([2]).fit(X, s)
    with pytest.raises(ValueError, match="n_starts must be a whole number of at least 2"):
        identifiability(model, X, s, n_starts=1)
    boosted = SAREMClassifier([2], classifier=LogisticRegression(), max_iter=20, tol=0.1).fit(X, s)
    with pytest.raises(TypeError, match="logistic class model"):
        identifiability(boosted, X, s)
    known = KnownPropensityClassifier().fit(X, s, propensity=0.5)
    with pytest.raises(TypeError, match="propensity"):
        identifiability(known, X, s)


def test_one_column_a_value_is_no_problem_and_a_cross_fit_serves():
    X, _, s = make(n=1500)
    place = np.random.default_rng(1).integers(0, 3, len(X))
    X = np.column_stack([X[:, :2], np.eye(3)[place]])
    model = CrossFitSARClassifier([2, 3, 4], random_state=0).fit(X, s)
    found = identifiability(model, X, s, n_starts=3, random_state=0)
    # The three add up to the intercept, of the class model and of the propensity.
    assert found.redundant == 2
    assert found.rank == found.n_parameters - 2
    assert not any("flat" in problem for problem in found.problems)
    assert "flat in 2 of 10 directions because columns depend on each other" in str(found)
    assert abs(found.class_prior[0] - model.class_prior_) < 0.1


def test_the_model_given_is_compared_with_what_is_found():
    """A decay that takes the class prior away from what the labels admit is told."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    y = rng.random(3000) < expit(1.5 * X[:, 0])
    s = y & (rng.random(3000) < 0.15 + 0.2 * (X[:, 1] > 0))
    model = SAREMClassifier([1], decay=0.5, C=100).fit(X, s)
    found = identifiability(model, X, s, n_starts=4, random_state=0)
    assert found.model_class_prior == model.class_prior_
    high = found.admitted[1]
    assert model.class_prior_ > high + 0.02
    assert f"The model given holds {model.class_prior_:.1%}" in found.problems[0]
    assert f"the model holds {model.class_prior_:.1%}" in str(found)
