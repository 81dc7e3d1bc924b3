"""The recipe on rows wherever they lie: a sample, then all of them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sarlearn import SARClassifier
from sarlearn._engine import sar_rows
from sarlearn._engine.auto import cautious
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.sar import Choices, Look, Recipe, Sample, Settings, _shares
from sarlearn._engine.sar_rows import Columns, _Distinct, learn, unidentified

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")


def made(n, seed=0, share=1.0):
    """Column 0 decides who is labelled; the class is not linear in columns 1 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = rng.random(n) < expit(3 * X[:, 1] + 2 * X[:, 2] ** 2 - 2)
    e = share * expit(0.3 + 1.2 * X[:, 0])
    return X, y, y & (rng.random(n) < e)


def rows_of(X, s, block_rows=100, **columns):
    return RowBlocks(X, block_rows=block_rows).attach(labelled=s, **columns)


def columns_of(X, of_class=None, of_propensity=(0,)):
    every = np.arange(X.shape[1])
    return Columns(every if of_class is None else np.array(of_class), np.array(of_propensity), [])


def test_different_rows_and_what_they_count():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    s, weight = np.array([1, 1, 0, 0, 0], bool), np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    audited = np.array([np.nan, np.nan, np.nan, np.nan, 0.0])
    rows = rows_of(X, s, 2, weight=weight, audited=audited)
    found = _Distinct(rows, columns_of(X), None)
    assert len(found) == 4
    Z, seen = found.take(None)
    by_weight = {
        w: (*z, bool(labelled))
        for w, z, labelled in zip(seen.weight, Z, seen.labelled, strict=True)
    }
    expected = {3.0: (1, 2, True), 4.0: (1, 2, False), 8.0: (3, 4, False), 16.0: (1, 2, False)}
    assert by_weight == expected
    assert seen.audited[seen.weight == 16] == 0
    assert np.isnan(seen.audited[seen.weight < 16]).all()
    # They share a fold though label and audit differ.
    assert len(np.unique(seen.folds[Z[:, 0] == 1])) == 1
    assert found.share == pytest.approx(3 / 31)


def test_rows_equal_in_the_class_columns_share_a_fold():
    X, _, s = made(300)
    X[150:, 1:] = X[:150, 1:]  # two visits that differ in what decides about labels
    found = _Distinct(rows_of(X, s), columns_of(X, [1, 2, 3]), None)
    assert len(found) == 300
    assert len(np.unique(found.by_class)) == 150
    groups = np.arange(300) // 2  # chains rows 2k, 2k + 1, and their second visits
    assert len(np.unique(_Distinct(rows_of(X, s), columns_of(X, [1, 2, 3]), groups).by_class)) == 75


def test_a_sample_keeps_labels_and_its_weights_stand_for_all():
    X, _, s = made(4000, share=0.1)
    found = _Distinct(rows_of(X, s, weight=np.where(s, 2.0, 1.0)), columns_of(X), None)
    number = found.sample(800)
    assert len(number) == 800
    _, seen = found.take(number)
    assert seen.labelled.sum() == min(s.sum(), 200)
    share = np.average(seen.labelled, weights=seen.weight)
    assert share == pytest.approx(found.share)
    assert seen.weight.sum() == pytest.approx(800)


def test_what_is_not_identified():
    X = np.column_stack([made(50)[0][:, :2], np.ones(50)])
    s = np.arange(50) < 20
    assert unidentified(rows_of(X, s, 7), columns_of(X, of_propensity=[0, 1]))
    assert not unidentified(rows_of(X, s, 7), columns_of(X, of_propensity=[0]))
    assert not unidentified(rows_of(X, s, 7), columns_of(X, of_propensity=[]))
    assert unidentified(rows_of(X, s, 7), columns_of(X, [0, 2], [0]))
    assert unidentified(rows_of(sparse.csr_array(X), s, 7), columns_of(X, of_propensity=[0, 1]))
    X[3, 2] = np.nan  # gaps vary
    assert not unidentified(rows_of(X, s, 7), columns_of(X, of_propensity=[0, 1]))


@pytest.mark.parametrize("class_models", [("linear", "trees"), ("linear",), ("trees",)])
def test_many_rows_give_the_answer_of_few(class_models, monkeypatch):
    """By a sample and then all rows, against all rows at once: within the range's sampling part."""
    X, y, s = made(6000)
    settings = Settings(class_models)
    few = learn(rows_of(X, s), columns_of(X), settings, 0)
    assert few.n_tree_rows is None
    monkeypatch.setattr(sar_rows, "MANY_ROWS", 3000)
    monkeypatch.setattr(sar_rows, "SAMPLE_ROWS", 2500)
    many = learn(rows_of(X, s), columns_of(X), settings, 0)
    error = few.fit.stack.prior_error()
    assert many.fit.stack.class_prior == pytest.approx(few.fit.stack.class_prior, abs=2.5 * error)
    np.testing.assert_allclose(many.fit.stack.phi, few.fit.stack.phi, atol=0.5)
    assert many.fit.last.m == 1
    assert (many.fit.last is many.fit.stack) == (len(class_models) == 1)
    # The label model has seen every row: its error is that of all of them.
    assert many.fit.stack.prior_error() < 1.5 * error
    logits = [one.logit(X, columns_of(X)) for one in (few, many)]
    assert np.corrcoef(*logits)[0, 1] > 0.95
    if "trees" in class_models:
        assert abs(many.fit.stack.class_prior - y.mean()) < 0.06


def test_many_rows_in_any_order_and_any_blocks(monkeypatch):
    monkeypatch.setattr(sar_rows, "MANY_ROWS", 1500)
    monkeypatch.setattr(sar_rows, "SAMPLE_ROWS", 1200)
    monkeypatch.setattr(sar_rows, "TREE_ROWS", 1800)
    X, _, s = made(2400)
    order = np.random.default_rng(1).permutation(2400)
    one = learn(rows_of(X, s), columns_of(X), Settings(), 0)
    other = learn(rows_of(X[order], s[order], 333), columns_of(X), Settings(), 0)
    assert one.n_tree_rows == 1800
    assert other.fit.stack.class_prior == pytest.approx(one.fit.stack.class_prior, abs=1e-6)
    twice = learn(rows_of(np.tile(X, (2, 1)), np.tile(s, 2)), columns_of(X), Settings(), 0)
    weighed = learn(rows_of(X, s, weight=np.full(2400, 2.0)), columns_of(X), Settings(), 0)
    assert twice.fit.stack.class_prior == pytest.approx(weighed.fit.stack.class_prior, abs=1e-6)
    few_columns = sparse.csr_array(X)
    of_sparse = learn(rows_of(few_columns, s), columns_of(X), Settings(), 0)
    assert of_sparse.fit.stack.class_prior == pytest.approx(one.fit.stack.class_prior, abs=1e-5)
    np.testing.assert_allclose(
        of_sparse.logit(few_columns, columns_of(X)), one.logit(X, columns_of(X)), atol=1e-3
    )


def test_more_than_fifteen_thousand_rows():
    """The path that they take, by the public door; copies do not make a table a large one."""
    X, y, s = made(16_000, share=0.5)
    found = SARClassifier([0]).fit(X, s)
    assert found.class_prior_ == pytest.approx(y.mean(), abs=0.04)
    low, high = found.class_prior_range_
    assert low < y.mean() < high
    mean = found.predict_proba(X)[:, 1].mean()
    assert mean == pytest.approx(found.class_prior_, abs=1e-9)
    small = slice(0, 900)
    alone = SARClassifier([0]).fit(X[small], s[small], sample_weight=np.full(900, 18))
    copies = SARClassifier([0]).fit(np.tile(X[small], (18, 1)), np.tile(s[small], 18))
    assert copies.class_prior_ == pytest.approx(alone.class_prior_, abs=1e-9)


def test_settings_are_heard():
    X, _, s = made(500)
    heard = []
    settings = Settings(("linear",), n_folds=3, n_runs=2, report=lambda: heard.append(1))
    plain = learn(rows_of(X, s), columns_of(X), settings, 0)
    assert len(heard) > 2
    pulled = learn(rows_of(X, s), columns_of(X), replace(settings, pseudo_counts=500.0), 0)
    assert abs(pulled.fit.stack.class_prior - 0.5) < abs(plain.fit.stack.class_prior - 0.5)
    trees = replace(settings, class_models=("trees",), max_trees=10)
    assert learn(rows_of(X, s), columns_of(X), trees, 0).fit.choices.rounds == [10, 10]


def test_penalties_follow_the_table():
    """Pseudo-counts of classes fade where labels are rare, so that rare classes stay rare, and
    those of labels double; fits of which nobody has named the columns have more; where all are
    named, they must not take the class's place."""
    settings = Settings(pseudo_counts=4.0)
    common, rare = (settings.stack_penalties(share, 2) for share in (0.5, 0.05))
    assert (common.of_class, common.of_labels) == (8.0, 2.0)
    assert (rare.of_class, rare.of_labels) == (pytest.approx(1.6), pytest.approx(3.6))
    assert common.of_few == rare.of_few == 3.0
    assert replace(settings, pseudo_counts=0.0).stack_penalties(0.05, 2).of_few == 0
    assert cautious(settings).stack_penalties(0.5, 2).of_class == 24.0
    one, every = (settings.start_penalties(0.5, 8, named).ridge_e for named in (1, 8))
    assert every > 10 * one


def test_runs_are_averaged():
    X, _, s = made(800)
    once, thrice = (
        learn(rows_of(X, s), columns_of(X), Settings(("linear",), n_runs=runs), 0).fit.model.coef
        for runs in (1, 3)
    )
    np.testing.assert_allclose(thrice[:-1], once[:-1], atol=0.1)
    assert np.abs(once[:-1]).max() > 0.5


def sample_of(X, s, named=(0, 1)):
    """Terms are the columns, which have mean 0 and deviation 1 nearly."""
    named, every = np.array(named, np.intp), np.arange(X.shape[1])
    folds = [np.arange(len(s)) % 5]
    return Sample(X, X, X[:, named], every, named, s, np.ones(len(s)), None, folds)


def test_labelling_has_first_claim_on_named_columns_in_one_start():
    X, _, s = made(1500)
    trees = Settings(("trees",), max_trees=5)
    claim, plain = Recipe(sample_of(X, s), trees).fit().choices.starts
    assert (np.abs(claim[:2]) < 0.1 * np.abs(plain[:2])).all()
    # Column 1 is the class's, and not free to be labelling's in the other start.
    assert claim[-2] > plain[-2] + 0.2
    assert len(Recipe(sample_of(X, s, ()), trees).fit().choices.starts) == 1
    # Columns of the propensity alone are nobody else's.
    alone = replace(sample_of(X, s), X=X[:, 2:], Z=X[:, 2:], columns=np.arange(2, 4))
    assert len(Recipe(alone, trees).fit().choices.starts) == 1


def test_two_boostings_are_averaged_by_their_shares():
    X, _, s = made(700)
    begun = Recipe(sample_of(X, s), Settings(("trees",), max_trees=5)).fit().choices
    held = []
    for shares in ([1.0, 0.0], [0.0, 1.0], [0.3, 0.7]):
        chosen = Choices(begun.starts, begun.v, [20, 5], shares)
        fit = Recipe(sample_of(X, s), Settings(("trees",), chosen=chosen)).fit()
        grown = [10, 15, 20] * (shares[0] > 0) + [5] * (shares[1] > 0)
        assert [rounds for rounds, *_ in fit.history] == grown
        held.append(fit.held[:, 0])
    first, second, both = held
    parts = np.column_stack([first, second, np.ones(len(s))])
    weights, (left_over,), *_ = np.linalg.lstsq(parts, both, rcond=None)
    assert left_over < 1e-12 * (both @ both)
    assert (weights[:2] > 0.1).all()


def test_shares_follow_the_held_out_labels():
    """Half of the log-likelihood counts, and the second has to be ahead."""

    def looks(*values):
        labels = [SimpleNamespace(log_likelihood=value) for value in values]
        return [Look(np.zeros(1), one, None) for one in labels]

    assert _shares(looks(-100.0)) == [1.0]
    assert _shares(looks(-100.0, -98.0)) == pytest.approx([0.5, 0.5])
    assert _shares(looks(-100.0, -100.0))[1] == pytest.approx(expit(-1.0))
    assert _shares(looks(-100.0, -120.0)) == [1.0, 0.0]
    assert _shares(looks(-120.0, -100.0)) == [0.0, 1.0]


def test_a_refit_makes_the_looks_that_count_alone():
    X, _, s = made(500)
    chosen = Choices([], 1.0, [7, 9], [0.0, 1.0])
    settings = Settings(("linear", "trees"), chosen=chosen)
    fit = Recipe(sample_of(X, s, ()), settings).fit()
    assert [rounds for rounds, *_ in fit.history] == [9]
    assert fit.choices.shares == [0.0, 1.0]
    linear = replace(settings, class_models=("linear",))
    assert np.isfinite(Recipe(sample_of(X, s, ()), linear).fit().stack.class_prior)
