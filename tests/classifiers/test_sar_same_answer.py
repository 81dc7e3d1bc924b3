"""What must not move the learner's answer: order, copies, formats, rows that weigh nothing."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from sar_data import made, same
from sarlearn import SARClassifier
from sarlearn.exceptions import TrustWarning

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")


def test_the_order_of_rows(data, model):
    order = np.random.default_rng(1).permutation(data.n)
    same(SARClassifier([0]).fit(data.X[order], data.s[order]), model, data.X)


def test_copies_are_weights(data, model):
    times = np.random.default_rng(2).integers(0, 4, data.n)
    copies = np.repeat(data.X, times, axis=0), np.repeat(data.s, times)
    found = SARClassifier([0]).fit(*copies)
    weighed = SARClassifier([0]).fit(data.X, data.s, sample_weight=times.astype(float))
    same(found, weighed, data.X)
    twice = SARClassifier([0]).fit(np.tile(data.X, (2, 1)), np.tile(data.s, 2))
    same(twice, SARClassifier([0]).fit(data.X, data.s, sample_weight=np.full(data.n, 2)), data.X)
    # Copies tell less than new rows, but they are taken at their word; the answer hardly moves.
    assert twice.class_prior_ == pytest.approx(model.class_prior_, abs=0.05)


def test_rows_that_weigh_nothing(data, model):
    """Among the others, with labels, groups and audits of their own."""
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(0, data.n, 100))
    X = np.insert(data.X, at, 7.0, axis=0)
    s = np.insert(data.s, at, True)
    weight = np.insert(np.ones(data.n), at, 0.0)
    same(SARClassifier([0]).fit(X, s, sample_weight=weight), model, data.X)
    groups, audited = np.arange(data.n) // 3, np.where(~data.s & (data.X[:, 3] > 1), data.y, np.nan)
    given = {"groups": groups, "audited": audited}
    found = SARClassifier([0]).fit(data.X, data.s, **given)
    more = {"groups": np.insert(groups, at, 1), "audited": np.insert(audited, at, 1.0)}
    same(SARClassifier([0]).fit(X, s, sample_weight=weight, **more), found, data.X)
    assert found.n_audited_ == np.isfinite(audited).sum()


@pytest.mark.parametrize("class_models", [("linear", "trees"), ("linear",)])
def test_sparse_is_dense(class_models):
    """Zeros stored or not, entries in parts, in any order; and what was given stays as it was."""
    rng = np.random.default_rng(5)
    data = made(700, 5)
    X = np.round(data.X, 1) * (rng.random(data.X.shape) < 0.6)
    expected = SARClassifier([0], class_models=class_models).fit(X, data.s)
    rows, columns = np.repeat(np.arange(700), 8), np.tile([3, 2, 1, 0, 0, 1, 2, 3], 700)
    values = X[rows, columns] / 2
    parts = sparse.csr_matrix((values, columns, np.arange(0, 5601, 8)), shape=X.shape)
    before = parts.data.copy(), parts.indices.copy(), parts.indptr.copy()
    for same_rows in (sparse.csr_array(X), sparse.csc_matrix(X), parts):
        found = SARClassifier([0], class_models=class_models).fit(same_rows, data.s)
        assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-6)
        for rows_to_score in (X, same_rows):
            proba = found.predict_proba(rows_to_score)
            np.testing.assert_allclose(proba, expected.predict_proba(X), atol=1e-5)
            np.testing.assert_allclose(
                expected.predict_proba(rows_to_score), expected.predict_proba(X), atol=1e-12
            )
    for now, then in zip((parts.data, parts.indices, parts.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_scales_and_offsets_of_columns(data):
    """They decide about folds, so that answers differ as those of other seeds do."""
    scale, offset = np.array([1e3, 1e-3, 64.0, 1.0]), np.array([1e6, 3.0, -1e5, 0.0])
    X = data.X * scale + offset
    found, plain = (
        [SARClassifier([0], random_state=seed).fit(rows, data.s) for seed in range(3)]
        for rows in (X, data.X)
    )
    prior, expected = (np.mean([one.class_prior_ for one in fits]) for fits in (found, plain))
    assert prior == pytest.approx(expected, abs=0.03)
    coef, expected = (np.mean([one.propensity_coef_[0] for one in fits]) for fits in (found, plain))
    assert coef * 1e3 == pytest.approx(expected, rel=0.1)


def test_single_precision(data):
    X = data.X.astype(np.float32)
    narrow = SARClassifier([0]).fit(X, data.s)
    same(narrow, SARClassifier([0]).fit(X.astype(float), data.s), X, atol=1e-9)


def test_groups_are_held_out_together():
    """Near copies of a row lie in other folds unless someone says that they belong together."""
    data, rng = made(800, 6), np.random.default_rng(0)
    X = np.repeat(data.X, 2, axis=0) + 1e-6 * rng.normal(size=(1600, 4))
    s, groups = np.repeat(data.s, 2), np.repeat(np.arange(800), 2)
    with pytest.warns(TrustWarning, match=r"have near copies .* groups=\.\.\."):
        apart = SARClassifier([0]).fit(X, s)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "About")
        together = SARClassifier([0]).fit(X, s, groups=groups)
    copies = SARClassifier([0]).fit(np.repeat(data.X, 2, axis=0), s)
    assert abs(together.class_prior_ - copies.class_prior_) < 0.06
    assert apart.class_prior_ < min(together.class_prior_, copies.class_prior_) - 0.03
    order = rng.permutation(1600)
    words = np.array([f"patient {group}" for group in groups])
    same(SARClassifier([0]).fit(X[order], s[order], groups=words[order]), together, X)
    with pytest.raises(ValueError, match="groups must hold one value per row, 1600"):
        SARClassifier().fit(X, s, groups=groups[:5])
    with pytest.raises(ValueError, match="groups holds one value only, 'all'"):
        SARClassifier().fit(X, s, groups=np.full(1600, "all"))
    few = SARClassifier([0]).fit(X, s, groups=groups % 3)  # fewer than folds
    assert few.class_prior_ == pytest.approx(together.class_prior_, abs=0.06)


def test_another_seed_deals_other_folds(data, model):
    other = SARClassifier([0], random_state=1).fit(data.X, data.s)
    assert other.class_prior_ != model.class_prior_
    assert other.class_prior_ == pytest.approx(model.class_prior_, abs=0.08)
