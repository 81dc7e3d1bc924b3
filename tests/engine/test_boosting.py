"""Joint boosting: derivatives, stored trees, terms of linear models, rows in a sample."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sarlearn._engine import boosting, likelihood
from sarlearn._engine.boosting import fit_boosted
from sarlearn._engine.boosting_data import BoostingSettings, Rows
from sarlearn._engine.boosting_loss import loss_derivatives
from sarlearn._engine.boosting_starts import Propensity
from sarlearn._engine.folds import Folds
from sarlearn._engine.label_model import LabelModel
from sarlearn._engine.linear_columns import LinearColumns
from sarlearn._engine.trees import BinnedRows, FoldBoosters, Trees, TreeSettings

pytest.importorskip("lightgbm", reason="LightGBM is not installed")


def plain_loss(logits, e, labelled):
    f = expit(logits)
    return -np.log(np.where(labelled, f * e, 1 - f * e))


def test_gradient_is_the_slope_of_the_loss_and_hessian_its_expected_bend():
    rng = np.random.default_rng(0)
    F, e = rng.normal(0, 2, 200), rng.uniform(0.05, 1.0, 200)
    weight, step = rng.uniform(0.5, 2, 200), 1e-5
    bends = []
    for labelled in (np.ones(200, bool), np.zeros(200, bool)):
        gradient, hessian = loss_derivatives(F, e, 1 - e, labelled, weight)
        up, middle, down = (plain_loss(F + d, e, labelled) for d in (step, 0, -step))
        np.testing.assert_allclose(gradient, weight * (up - down) / (2 * step), atol=1e-6)
        bends.append(weight * (up - 2 * middle + down) / step**2)
    chance = expit(F) * e
    expected = chance * bends[0] + (1 - chance) * bends[1]
    np.testing.assert_allclose(hessian, expected, atol=1e-4)


def test_derivatives_stay_finite_at_extremes():
    F, e = np.array([-1e3, 1e3, 1e3, 0.0]), np.array([1.0, 1.0, 1e-9, 1.0])
    for labelled in (np.ones(4, bool), np.zeros(4, bool)):
        gradient, hessian = loss_derivatives(F, e, 1 - e, labelled, None)
        assert np.isfinite(gradient).all()
        assert (hessian > 0).all()


@pytest.fixture(scope="module")
def grown():
    """Two folds of boosters on numbers, gaps and categories."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 2] = rng.integers(0, 6, 600)
    X[:50, 1] = np.nan
    y = (X[:, 0] > 0) + 2.0 * (X[:, 2] % 2)
    halves = np.arange(300), np.arange(300, 600)
    folds = [halves, halves[::-1]]
    offsets = [0.0, np.linspace(-1, 1, 600)]
    boosting_ = FoldBoosters(BinnedRows(X, TreeSettings(max_leaf_nodes=5), [2]), folds).start(
        offsets
    )
    boosting_.advance(7, lambda rows, F: (F - y[rows], np.ones(len(rows))))
    return X, folds, offsets, boosting_


def test_held_out_logits_are_those_of_the_other_half(grown):
    X, folds, offsets, boosters = grown
    held_out = boosters.held_out()
    for trees, (_, test), offset in zip(boosters.trees(7), folds, offsets, strict=True):
        expected = trees.predict(X[test]) + np.broadcast_to(offset, 600)[test]
        np.testing.assert_allclose(held_out[test], expected, rtol=1e-12)
    few, many = boosters.trees(3)[0], boosters.trees(7)[0]
    assert len(few.text) < len(many.text)
    assert Trees("", 3).predict(X).tolist() == [0.0] * 600


def test_linear_terms_of_numbers_gaps_and_categories():
    X = np.array([[1.0, 0, 5], [3.0, 1, 7], [np.nan, 1, 5], [5.0, 0, 9]])
    columns = LinearColumns.learn(X, [2])
    assert columns.names(["a", "b", "c"]) == ["a", "a=(missing)", "b", "c=5", "c=7", "c=9"]
    terms = columns.transform(X)
    assert terms[2, 0] == 0  # a gap counts as the mean
    assert terms[[0, 1, 3], 0].std() == pytest.approx(0.5)
    np.testing.assert_array_equal(terms[:, 1], [0, 0, 1, 0])
    assert np.ptp(terms[:, 2]) == 1
    np.testing.assert_array_equal(terms[:, 3:].sum(axis=1), 1)
    np.testing.assert_array_equal(columns.of_columns(np.array([2, 0])), [3, 4, 5, 0, 1])
    # Coefficients in the units of the columns say the same.
    coef = np.arange(1.0, 7.0)
    in_units, intercept = columns.in_units(coef, 0.5)
    raw = columns.unscaled().transform(X)
    np.testing.assert_allclose(raw @ in_units + intercept, terms @ coef + 0.5)
    assert columns.transform(np.array([[1.0, 0, 6]]))[0, 3:].sum() == 0  # never seen


def test_linear_terms_of_sparse_columns():
    X = sparse.csr_array(np.array([[0.0, -4.0], [2.0, 0.0], [1.0, 0.0]]))
    columns = LinearColumns.learn(X)
    expected = np.array([[0, -1], [1, 0], [0.5, 0]])
    np.testing.assert_allclose(columns.transform(X).toarray(), expected)
    coef, intercept = columns.part(np.array([1])).in_units(np.array([2.0]), 1.0)
    assert (coef.tolist(), intercept) == ([0.5], 1.0)


def test_many_rows_are_sampled_and_then_boosted_once(monkeypatch):
    """The same answer from a sample first, within what another draw would give."""
    rng = np.random.default_rng(0)
    X = rng.random((6000, 4))
    y = rng.random(6000) < expit(40 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5))
    s = y & (rng.random(6000) < expit(3 * X[:, 2] - 1))
    linear = LinearColumns.learn(X)
    rows = Rows(X, (), linear, linear.of_columns(np.array([2])), s, None)
    order = rng.permutation(6000)
    parts = np.array_split(order, 3)
    folds = [Folds.of(((np.setdiff1d(order, part), part) for part in parts), 6000)]
    whole = fit_boosted(rows, folds, BoostingSettings())
    monkeypatch.setattr(boosting, "MANY_ROWS", 5000)
    monkeypatch.setattr(boosting, "SAMPLE_ROWS", 2000)
    monkeypatch.setattr(boosting, "SAMPLE_LABELS", 100)
    looked_at = []

    def model(scores, attributes, labelled, *rest, **settings):
        looked_at.append(labelled)
        return LabelModel(scores, attributes, labelled, *rest, **settings)

    monkeypatch.setattr(boosting, "LabelModel", model)
    sampled = fit_boosted(rows, folds, BoostingSettings())
    assert {len(labelled) for labelled in looked_at} == {2000, 6000}
    assert all(labelled.flags.c_contiguous for labelled in looked_at)  # as compiled passes want it
    assert set(sampled.history["run"]) == {0.0, 1.0}  # the sample's run, then all rows
    assert sampled.class_prior == pytest.approx(whole.class_prior, abs=0.04)
    f, g = (fit.runs[0].ensemble.logit(X, linear) for fit in (whole, sampled))
    assert np.corrcoef(f, g)[0, 1] > 0.95


def test_label_models_start_from_the_propensity():
    """No step from there: the class probability is that of the logits, the propensity its own."""
    rng = np.random.default_rng(2)
    F, Z, labelled = rng.normal(0, 2, 300), rng.normal(3, 2, (300, 2)), rng.random(300) < 0.3
    first = Propensity(np.array([0.4, -1.1]), 0.7)
    start = LabelModel(F, Z, labelled).fit(warm=first.labels(), max_steps=0)
    assert start.class_prior == pytest.approx(expit(F).mean(), rel=1e-12)
    loss = plain_loss(F, first.of(Z), labelled).sum()
    assert start.log_likelihood == pytest.approx(-loss, rel=1e-12)


def test_derivatives_are_those_of_the_one_likelihood():
    """By the odds of a label, not by the posterior: boosting asks for them in every round."""
    rng = np.random.default_rng(1)
    F, e, labelled = rng.normal(0, 4, 500), rng.uniform(0, 1, 500), rng.random(500) < 0.4
    f, not_f = likelihood.sigmoids(np.clip(F, -boosting.LOGIT_LIMIT, boosting.LOGIT_LIMIT))
    found = likelihood.terms(f, not_f, likelihood.evidence_of_labels(e, 1 - e, labelled))
    gradient, _ = loss_derivatives(F, e, 1 - e, labelled, None)
    np.testing.assert_allclose(gradient, found.residual, rtol=1e-9, atol=1e-12)
