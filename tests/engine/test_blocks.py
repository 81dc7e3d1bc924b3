import numpy as np
import pytest
from scipy import sparse

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.kernels import gram, gram_diagonal

rng = np.random.default_rng(0)
DENSE = rng.standard_normal((103, 5)) * (rng.random((103, 5)) < 0.6)


def itself(block):
    return block


def weighted_sum(block):
    return block.X.T @ block.weight


@pytest.mark.parametrize(
    "make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix]
)
@pytest.mark.parametrize("block_rows", [None, 1, 7, 103, 1000])
def test_any_cut_gives_the_same_sums(make, block_rows):
    blocks = RowBlocks(make(DENSE), block_rows=block_rows)
    total = blocks.attach(weight=np.arange(103.0)).total(weighted_sum)
    np.testing.assert_allclose(total, DENSE.T @ np.arange(103.0), rtol=1e-12)
    np.testing.assert_allclose(blocks.matvec(np.arange(5.0)), DENSE @ np.arange(5.0), rtol=1e-12)
    rows = np.array([0, 6, 7, 50, 102])
    taken = blocks.take(rows)
    np.testing.assert_array_equal(taken.toarray() if sparse.issparse(taken) else taken, DENSE[rows])


def test_blocks_share_the_data():
    X = sparse.csr_array(DENSE)
    for block in RowBlocks(X, block_rows=10).each(itself):
        assert np.shares_memory(block.X.data, X.data)
    for block in RowBlocks(DENSE, block_rows=10).each(itself):
        assert np.shares_memory(block.X, DENSE)


def test_float32_is_widened_block_by_block():
    X = DENSE.astype(np.float32)
    for block in RowBlocks(X, block_rows=10).each(itself):
        assert block.X.dtype == np.float64
    expected = X.astype(float) @ np.arange(5.0)
    np.testing.assert_allclose(RowBlocks(X).matvec(np.arange(5.0)), expected, rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block_rows", [4, 103])
def test_a_part_is_spread_over_all_rows(make, block_rows):
    blocks = RowBlocks(make(DENSE), block_rows=block_rows)
    part = blocks.part(20)
    numbers = np.concatenate([np.arange(r.start, r.stop) for r in part.slices])
    assert part.shape == (len(numbers), 5)
    assert 10 <= len(numbers) <= 30
    for block in part.each(itself):
        X = block.X.toarray() if sparse.issparse(block.X) else block.X
        np.testing.assert_array_equal(X, DENSE[block.rows])
    assert blocks.part(60) is None


def test_threads_change_nothing(monkeypatch):
    one = RowBlocks(DENSE, block_rows=10)
    two = RowBlocks(DENSE, block_rows=10)
    two.threads = 2

    def sums(block):
        return block.X.sum(axis=0)

    np.testing.assert_allclose(one.total(sums), two.total(sums), rtol=1e-13)
    assert all(np.array_equal(two.total(sums), two.total(sums)) for _ in range(5))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("least", [0.0, -0.5], ids=["positive", "both signs"])
def test_gram(make, least):
    h = rng.uniform(least, 1.0, 103)
    expected = DENSE.T @ np.diag(h) @ DENSE
    np.testing.assert_allclose(gram(make(DENSE), h), expected, rtol=1e-10, atol=1e-12)
    expected = np.diag(DENSE.T @ np.diag(h) @ DENSE)
    np.testing.assert_allclose(gram_diagonal(make(DENSE), h), expected, rtol=1e-12)
