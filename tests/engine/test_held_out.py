"""Fits without each fold: their optimum, wherever the rows lie, and which penalties are tried."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import RepeatedKFold, ShuffleSplit, StratifiedKFold

from conftest import make_pu
from sarlearn import CrossFitSARClassifier
from sarlearn._engine import held_out
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.crossfit import search
from sarlearn._engine.folds import Folds
from sarlearn._engine.held_out import FoldFits, fold_fits, fold_pass
from sarlearn._engine.known import KnownPropensityProblem, known_at
from sarlearn.classifiers._trust import no_second_look


def loss(theta, X, labelled, e, weight, C):
    f = expit(X @ theta[:-1] + theta[-1])
    return -weight @ np.log(np.where(labelled, f, 1 - f * e)) + theta[:-1] @ theta[:-1] / (2 * C)


def optimum(start, *problem):
    """By a library's solver, from where ours ended."""
    return minimize(loss, start, problem, method="BFGS", options={"gtol": 1e-9}).x


def prepared(data, cv, make=np.asarray, block_rows=53, weight=None):
    folds = list(cv.split(data.X, data.s))
    rows = RowBlocks(make(data.X), block_rows=block_rows).attach(
        labelled=data.s,
        e=data.e,
        not_e=1 - data.e,
        folds=Folds.of(folds, len(data.s)).flags,
        weight=weight,
    )
    return folds, rows


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("keeps_hessians", [True, False])
@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(5, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0),  # some rows do neither
    ],
)
def test_each_fit_is_the_optimum_without_its_fold(cv, keeps_hessians, make, monkeypatch):
    if not keeps_hessians:
        monkeypatch.setattr(held_out, "LARGEST_HESSIANS", 0)
    data = make_pu(300)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    folds, rows = prepared(data, cv, make, weight=weight)
    Cs = [20.0, 0.4]
    thetas = fold_fits(rows, len(folds), Cs, np.linspace(-1, 1, 7), tol=1e-10)
    for k, (train, _) in enumerate(folds):
        known = data.X[train], data.s[train], data.e[train], weight[train]
        for i, C in enumerate(Cs):
            best = optimum(thetas[k, :, i], *known, C)
            np.testing.assert_allclose(thetas[k, :, i], best, atol=2e-5)


def test_few_rows_that_have_little_in_common():
    """Noise, of which each fold leaves out another part: no fit stops above its optimum."""
    data = make_pu(40, 4, seed=3)
    data.s, data.e = np.random.default_rng(0).random(40) < 0.4, np.full(40, 0.6)
    folds, rows = prepared(data, StratifiedKFold(5, shuffle=True, random_state=1))
    thetas = fold_fits(rows, 5, [0.1, 1.0, 100.0], np.zeros(5))
    for k, (train, _) in enumerate(folds):
        known = data.X[train], data.s[train], data.e[train], np.ones(len(train))
        for i, C in enumerate([0.1, 1.0, 100.0]):
            best = optimum(thetas[k, :, i], *known, C)
            assert loss(thetas[k, :, i], *known, C) <= loss(best, *known, C) + 1e-3, (k, C)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.FewLabelsWarning")
def test_of_two_maxima_the_better_one_is_taken():
    """With C = 100 the maximum next to the fit to all rows has seen what the fold leaves out."""
    rng = np.random.default_rng(162)
    X = rng.standard_normal((190, 3))
    y = rng.random(190) < expit(-1 + 0.3 * X[:, 1])
    s = y & (rng.random(190) < expit(-X[:, 0]))
    with no_second_look():
        held_out = CrossFitSARClassifier([0], random_state=0).fit(X, s).held_out_log_likelihood_
    assert held_out[-1] == pytest.approx(-69.1, abs=0.5)  # next to that fit it is -65.7


@pytest.mark.parametrize(
    "cv", [StratifiedKFold(4), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)]
)
def test_sums_without_a_fold_are_those_of_its_training_rows(cv):
    data = make_pu(200)
    folds, rows = prepared(data, cv)
    theta = np.linspace(-1, 1, 7)
    sums = rows.total(fold_pass, known_at(theta))
    for k, (train, _) in enumerate(folds):
        part = RowBlocks(data.X[train]).attach(
            labelled=data.s[train], e=data.e[train], not_e=1 - data.e[train]
        )
        problem = KnownPropensityProblem(part, np.zeros(7), 1.0)
        (iterate,) = problem.passes([theta], True)
        found = sums.without(k)
        assert found.log_likelihood == pytest.approx(iterate.sums.log_likelihood)
        np.testing.assert_allclose(found.next_gradient, iterate.gradient, atol=1e-10)
        np.testing.assert_allclose(found.hessian, iterate.sums.hessian, atol=1e-10)


@pytest.mark.parametrize("cv", [StratifiedKFold(4), ShuffleSplit(3, train_size=0.5, test_size=0.2)])
def test_rows_that_train_are_cut_out_or_copied(cv, monkeypatch):
    """Sorted by the fold that leaves them out, they are what is before and behind one run."""
    data = make_pu(200)
    folds, rows = prepared(data, cv, block_rows=None)
    here = known_at(np.linspace(-1, 1, 7))
    for k in range(len(folds)):
        found = []
        for most in (10**6, 0):
            monkeypatch.setattr(held_out, "COPIED_ROWS", most)
            given = rows.sorted_by(held_out._first_left_out)  # nothing is remembered in new blocks
            found.append(given.total(held_out.training_pass, k, here, "signed"))
        copied, cut = found
        assert cut.log_likelihood == pytest.approx(copied.log_likelihood)
        np.testing.assert_allclose(cut.next_gradient, copied.next_gradient, atol=1e-10)
        np.testing.assert_allclose(cut.hessian, copied.hessian, atol=1e-10)


def test_a_fold_takes_few_passes_and_no_hessian_of_its_own():
    """On many rows the step from the fit to all rows is nearly the last."""
    data = make_pu(8000)
    folds, rows = prepared(data, StratifiedKFold(5), block_rows=None)
    fits, kinds = FoldFits(rows, 5, np.zeros(7)), []

    class Counted(type(rows)):
        def total(self, function, *arguments):
            if function is held_out.training_pass:
                kinds.append(arguments[-1])
            return super().total(function, *arguments)

    fits._rows.__class__ = Counted
    fits.solve(1.0)
    assert set(kinds) == {None}
    assert len(kinds) <= 2 * len(folds)


@pytest.mark.parametrize("best", range(6))
@pytest.mark.parametrize("first", [1e-3, 0.5, 2.0, 1e4])
def test_the_search_finds_the_one_maximum_from_anywhere(best, first):
    Cs = np.array([10.0, 0.1, 1.0, 100.0, 0.3, 3.0])  # in any order
    rank = np.argsort(np.argsort(Cs))
    tried = []

    def value(i):
        tried.append(i)
        return -abs(rank[i] - rank[best])

    assert search(value, Cs, first) == best
    assert len(set(tried)) == len(tried)


def test_a_margin_leads_over_small_falls():
    values = [-4.7, -6.0, -8.0, -7.6, -3.8, 0.0, -0.2]
    Cs = np.array([0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])
    assert search(values.__getitem__, Cs, 1.0) == 5  # the other direction rises as well
    values = [-1.7, -1.6, -2.0, -2.7, -3.1, -2.1, 0.0]
    assert search(values.__getitem__, Cs, 1.0) == 1
    assert search(values.__getitem__, Cs, 1.0, 5.0) == 6


def test_the_search_leaves_out_what_is_beyond_the_maximum():
    tried = []

    def value(i):
        tried.append(i)
        return -abs(i - 1)

    assert search(value, np.array([0.1, 0.3, 1.0, 3.0, 10.0, 30.0]), 0.3) == 1
    assert sorted(tried) == [0, 1, 2]
