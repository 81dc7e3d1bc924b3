"""Trees that climb the likelihood of the labels: derivatives, held-out logits, LightGBM's traps."""

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sarlearn._engine.tree_scores import (
    LARGEST_WEIGHT,
    LEAST_CURVATURE,
    TreeRows,
    Trees,
    _objective,
    check_sizes,
)

K = 3


def made(n=600, seed=0, audits=True, gaps=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 5, n)
    y = rng.random(n) < expit(2 * X[:, 0] ** 2 + X[:, 1] - 2 + (X[:, 3] == 2))
    e = expit(rng.normal(size=n))
    s = y & (rng.random(n) < e)
    if gaps:
        X[rng.random((n, 4)) < 0.2] = np.nan
    audited = np.where(rng.random(n) < 0.3, y, np.nan) if audits else None
    weight = rng.uniform(0.5, 2.0, n)
    start = rng.normal(size=(n, K))
    folds = rng.integers(0, K, n)
    return SimpleNamespace(X=X, s=s, e=e, audited=audited, weight=weight, start=start, folds=folds)


def rows_of(data, X=None, **options):
    X = data.X if X is None else X
    return TreeRows(X, data.s, data.weight, data.folds, data.audited, **options)


def loss_of(eta, data):
    """Minus the logarithm of how probable what was seen of each row is."""
    f, e = expit(eta), data.e
    chance = np.where(data.s, f * e, 1 - f * e)
    if data.audited is not None:
        chance = np.where(data.audited == 1, f * np.where(data.s, e, 1 - e), chance)
        chance = np.where(data.audited == 0, 1 - f, chance)
    return -np.log(chance)


@pytest.mark.parametrize("audits", [False, True])
def test_gradient_and_curvature(audits):
    data = made(audits=audits)
    n, begun = len(data.s), data.start[:, 0]
    every = np.arange(n)
    raw, h = np.random.default_rng(1).normal(size=n) * 2, 1e-5
    gradient, curvature = _objective(rows_of(data), every, data.e, begun)(raw, None)
    slope = (loss_of(raw + begun + h, data) - loss_of(raw + begun - h, data)) / (2 * h)
    np.testing.assert_allclose(gradient, data.weight * slope, rtol=1e-6, atol=1e-8)
    # The information is the mean of squared slopes over labels, or classes, drawn from the model.
    f = expit(raw + begun)
    chance = f * data.e
    expected = chance * (1 - f) ** 2 + (chance * (1 - f)) ** 2 / (1 - chance)
    if audits:
        expected = np.where(np.isnan(data.audited), expected, f * (1 - f))
    bend = np.maximum(data.weight * expected, LEAST_CURVATURE)
    np.testing.assert_allclose(curvature, bend, rtol=1e-9)


def test_derivatives_are_numbers_at_the_ends():
    """One NaN among them, and LightGBM would predict 0 for every row, in silence."""
    data = made(n=8, audits=False)
    for labelled in (True, False):
        data.s[:] = labelled
        for e in (0.0, 0.01, 0.999, 1.0):
            raw = np.array([-1e308, -1e3, -40.0, 0.0, 40.0, 1e3, 1e308, 350.0])
            found = _objective(rows_of(data), np.arange(8), np.full(8, e), np.zeros(8))(raw, None)
            assert np.isfinite(found).all()
            assert (found[1] > 0).all()


def test_a_new_propensity_holds_from_the_next_round_on():
    data = made()
    rows = rows_of(data)
    one, other = rows.boost(data.start, 0.5 * data.e), rows.boost(data.start, data.e)
    one.set_propensity(data.e)
    for boosting in (one, other):
        boosting.grow(3)
    np.testing.assert_array_equal(one.held, other.held)


KINDS = [
    ("dense", lambda X: X),
    ("float32", lambda X: X.astype(np.float32)),
    ("csr", sparse.csr_array),
]


@pytest.mark.parametrize("audits", [False, True])
@pytest.mark.parametrize("make", [make for _, make in KINDS], ids=[name for name, _ in KINDS])
def test_held_out_logits_are_those_of_the_trees_that_have_not_seen_the_row(make, audits):
    data = made(audits=audits)
    X = make(data.X)
    boosting = rows_of(data, X).boost(data.start, data.e)
    boosting.grow(4)
    early = boosting.held.copy()
    boosting.set_propensity(np.minimum(data.e * 1.2, 0.99))
    boosting.grow(3)
    for rounds, held in ((4, early), (7, boosting.held)):
        trees = boosting.trees(rounds)
        assert len(trees) == K
        for k in range(K):
            out = data.folds == k
            found = data.start[out, k] + trees[k].predict(X[out])
            np.testing.assert_allclose(held[out], found, atol=1e-12)
            assert len(np.unique(found)) > 5
    assert boosting.trees(0) == []


def test_a_row_does_not_move_its_own_logit():
    data = made(audits=False)
    before = rows_of(data).boost(data.start, data.e)
    before.grow(5)
    out = data.folds == 1
    data.s[out] = ~data.s[out]
    after = rows_of(data).boost(data.start, data.e)
    after.grow(5)
    np.testing.assert_array_equal(after.held[out], before.held[out])
    assert (after.held[~out] != before.held[~out]).any()


def test_trees_lower_the_loss_of_rows_that_they_have_not_seen():
    data = made(n=3000, audits=False)
    start = np.full((3000, K), -0.5)
    boosting = rows_of(data).boost(start, data.e)
    values = [float(data.weight @ loss_of(boosting.held, data))]
    for _ in range(3):
        boosting.grow(5)
        values.append(float(data.weight @ loss_of(boosting.held, data)))
    assert values[1] < values[0] - 100
    assert values[2] < values[1]


def test_gaps_and_categories_are_taken_as_they_are():
    data = made(n=1500, gaps=True, audits=False)
    data.s = (data.X[:, 3] == 2) & (np.arange(1500) % 3 > 0)
    boosting = rows_of(data, categorical=[3]).boost(data.start, data.e)
    boosting.grow(6)
    out = data.folds == 0
    trees = boosting.trees(6)[0]
    np.testing.assert_allclose(
        boosting.held[out], data.start[out, 0] + trees.predict(data.X[out]), atol=1e-12
    )
    # No order among categories: 2 alone is set apart from its neighbours.
    X = np.zeros((5, 4))
    X[:, 3] = np.arange(5)
    scores = trees.predict(X)
    assert np.argmax(scores) == 2
    unseen = trees.predict(np.array([[0, 0, 0, 77.0], [0, 0, 0, np.nan]]))
    assert np.isfinite(unseen).all()


def test_text_and_back():
    data = made(gaps=True)
    boosting = rows_of(data, categorical=[3]).boost(data.start, data.e)
    boosting.grow(5)
    trees = boosting.trees(5)[1]
    copy = pickle.loads(pickle.dumps(trees))
    assert copy == trees
    assert not copy.checked
    np.testing.assert_array_equal(copy.predict(data.X), trees.predict(data.X))
    with pytest.raises(ValueError, match="stored trees are damaged"):
        Trees(trees.text, 3).predict(data.X[:, :3])
    with pytest.raises(ValueError, match="stored trees are damaged"):
        Trees(trees.text.replace("split_feature=", "split_feature=9", 1), 4).predict(data.X)


def test_the_same_trees_again():
    data = made()
    first, second = rows_of(data), rows_of(data)
    texts = []
    for rows in (first, second):
        boosting = rows.boost(data.start, data.e)
        boosting.grow(5)
        texts.append([trees.text for trees in boosting.trees(5)])
    assert texts[0] == texts[1]


def test_sizes_that_lightgbm_would_take_for_zero_or_cannot_weigh():
    check_sizes(np.array([0.0, 1e-30]), 1.0)
    check_sizes(np.array([0.0, 1e160]), LARGEST_WEIGHT)
    with pytest.raises(ValueError, match="column 1 is 1e-160"):
        check_sizes(np.array([1.0, 1e-160]), 1.0)
    with pytest.raises(ValueError, match="column 'b' is 1e"):
        check_sizes(np.array([1.0, 1e305]), 1.0, ["a", "b"])
    with pytest.raises(ValueError, match=r"largest sample_weight is 1e\+31"):
        check_sizes(np.ones(2), 1e31)


FORKS = """
import os, numpy as np
import lightgbm
from sarlearn._engine.tree_scores import TreeRows

rng = np.random.default_rng(0)
X, s = rng.normal(size=(3000, 4)), rng.random(3000) < 0.3

def grow():
    rows = TreeRows(X, s, np.ones(3000), rng.integers(0, 3, 3000))
    boosting = rows.boost(np.zeros((3000, 3)), np.full(3000, 0.5))
    boosting.grow(2)
    return float(boosting.trees(2)[0].predict(X).sum())

grow()
child = os.fork()
if not child:
    grow()
    os._exit(0)
print("child ended with", os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_after_a_fit_can_fit():
    """OpenMP hangs in a child whose parent has used two threads; boosters use one."""
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "child ended with 0\n", done.stderr
