"""Cross-fitting: scores of rows that the fit has not seen, and what is left to tell apart."""

from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.model_selection import KFold, StratifiedKFold

from conftest import make_pu
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.crossfit import LinearScorer, cross_fit, nothing_left
from sarlearn._engine.folds import Folds, make_folds
from sarlearn._engine.held_out import fold_fits, with_scores
from sarlearn._engine.known import fit_known


def with_folds(data, n_folds=4, make=np.asarray):
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(data.X, data.s))
    rows = RowBlocks(make(data.X), block_rows=37)
    flags = Folds.of(folds, len(data.s)).flags
    return folds, rows.attach(labelled=data.s, e=data.e, not_e=1 - data.e, folds=flags)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_held_out_scores_have_not_seen_the_row(make):
    data = make_pu(400)
    folds, rows = with_folds(data, make=make)
    Cs = [10.0, 0.5]  # in any order
    thetas = fold_fits(rows, len(folds), Cs, np.zeros(7))
    scorer = LinearScorer(len(folds), Cs, lambda: None)
    scores = scorer(rows, np.zeros(7))[0].gather(attrgetter("score"))
    chosen = Cs.index(scorer.C)
    for k, (train, test) in enumerate(folds):
        part = RowBlocks(data.X[train]).attach(
            labelled=data.s[train], e=data.e[train], not_e=1 - data.e[train]
        )
        for column, C in enumerate(Cs):
            theta = fit_known(part, C, np.zeros(7), tol=1e-12).theta
            # Fits stop within 0.01 nats of their optimum.
            apart = data.X[test] @ (thetas[k, :-1, column] - theta[:-1])
            assert np.sqrt(np.mean(apart**2)) < 0.15
        logits = data.X[test] @ thetas[k, :-1, chosen] + thetas[k, -1, chosen]
        np.testing.assert_allclose(scores[test], logits, atol=1e-12)


def test_scores_of_rows_held_out_twice_are_averaged():
    data = make_pu(60)
    folds = [
        split
        for seed in (0, 1)
        for split in KFold(3, shuffle=True, random_state=seed).split(data.X)
    ]
    rows = RowBlocks(data.X).attach(folds=Folds.of(folds, 60).flags)
    thetas = data.rng.standard_normal((6, 7, 2))
    expected = np.zeros((60, 2))
    for (_, test), theta in zip(folds, thetas, strict=True):
        expected[test] += (data.X[test] @ theta[:-1] + theta[-1]) / 2
    scores = rows.map(with_scores, thetas).gather(attrgetter("score"))
    np.testing.assert_allclose(scores, expected)


def test_the_penalty_is_that_of_the_best_held_out_likelihood():
    data = make_pu(400)
    folds, rows = with_folds(data)
    scorer = LinearScorer(len(folds), [1e-3, 1.0, 1e6], lambda: None)
    scorer(rows, np.zeros(7))
    assert scorer.held_out.shape == (3,)
    assert scorer.C == [1e-3, 1.0, 1e6][int(np.argmax(scorer.held_out))] == 1.0


def test_weights_count_in_every_fold_and_in_the_choice_of_the_penalty():
    """A weight is a repetition, in the same fold, for each fit and for the likelihood."""
    data = make_pu(400)
    folds, rows = with_folds(data)
    counts = data.rng.integers(1, 4, 400)
    Cs = [0.01, 1.0]
    weighted = rows.attach(weight=counts.astype(float))
    again = np.repeat(np.arange(400), counts)
    flags = Folds.of(folds, 400).flags[again]
    repeated = RowBlocks(data.X[again]).attach(
        labelled=data.s[again], e=data.e[again], not_e=1 - data.e[again], folds=flags
    )
    found = [fold_fits(each, len(folds), Cs, np.zeros(7)) for each in (weighted, repeated)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    scorers = [LinearScorer(len(folds), Cs, lambda: None) for _ in range(2)]
    for scorer, each in zip(scorers, (weighted, repeated), strict=True):
        scorer(each, np.zeros(7))
    np.testing.assert_allclose(scorers[0].held_out, scorers[1].held_out, rtol=1e-6)


def test_scores_follow_the_propensity_of_the_round_before():
    """Two rounds: the second scores rows with the first's propensity, not with SAR-EM's."""
    data = make_pu(400, discrete=True)
    folds, rows = with_folds(data)
    seen = []

    class Watched(LinearScorer):
        def __call__(self, rows, start):
            seen.append(rows.gather(attrgetter("e")))
            return super().__call__(rows, start)

    found = cross_fit(rows, data.columns, Watched(len(folds), [1.0], lambda: None))
    assert len(seen) == 2
    assert np.abs(seen[1] - seen[0]).max() > 1e-3
    zeta = data.X[:, data.columns] @ found.propensity_theta[:-1] + found.propensity_theta[-1]
    assert np.abs(seen[1] - expit(zeta)).max() > 1e-6  # the last one is that of the label model
    np.testing.assert_allclose(found.rows.gather(attrgetter("e")), expit(zeta), rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_what_is_left_besides_the_propensity_attributes(make):
    X = np.column_stack([np.arange(50.0), np.ones(50), np.arange(50.0) % 3])
    rows = RowBlocks(make(X), block_rows=7)
    assert nothing_left(rows, np.array([0, 2]))
    assert not nothing_left(rows, np.array([0]))
    assert not nothing_left(rows, np.array([], dtype=int))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.83])
@pytest.mark.parametrize("n_folds", [2, 5, 7])
def test_folds_are_those_of_scikit_learn(share, n_folds):
    labelled = np.random.default_rng(3).random(257) < share
    folds = make_folds(None, labelled, None, n_folds, 11)
    expected = StratifiedKFold(n_folds, shuffle=True, random_state=11).split(labelled, labelled)
    assert len(folds) == n_folds
    for (train, test), (known_train, known_test) in zip(folds, expected, strict=True):
        np.testing.assert_array_equal(train, known_train)
        np.testing.assert_array_equal(test, known_test)
    some = folds.take(np.array([3, 5, 200]))
    np.testing.assert_array_equal(some.flags, folds.flags[[3, 5, 200]])
