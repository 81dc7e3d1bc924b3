"""What every kind of rows must do, in memory and elsewhere: the protocol of ``rows.py``."""

from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse

from sarlearn._engine.blocks import RowBlocks

rng = np.random.default_rng(0)
DENSE = rng.standard_normal((103, 5)) * (rng.random((103, 5)) < 0.6)
LABELS = rng.random(103) < 0.4


def in_memory(X):
    return RowBlocks(X, block_rows=17).attach(labelled=LABELS)


def on_dask(X):
    da = pytest.importorskip("dask.array")
    from sarlearn.backends.dask_read import read_rows

    collection = da.from_array(X, chunks=(40, 5)) if isinstance(X, np.ndarray) else None
    if collection is None:
        collection = da.from_array(X.toarray(), chunks=(40, 5)).map_blocks(sparse.csr_array)
    return read_rows(collection, LABELS)[0]


def in_batches(X):
    pa = pytest.importorskip("pyarrow")
    from sarlearn import Batches
    from sarlearn.backends.batch_rows import read_rows

    table = pa.table({**dict(zip("abcde", X.T, strict=True)), "s": LABELS})
    cut = Batches(lambda: iter(table.to_batches(max_chunksize=40)))
    return read_rows(cut, "s")[0]


KINDS = {
    "memory": (in_memory, np.asarray),
    "memory, sparse": (in_memory, sparse.csr_array),
    "dask": (on_dask, np.asarray),
    "dask, sparse": (on_dask, sparse.csr_array),
    "batches": (in_batches, np.asarray),
}


@pytest.fixture(params=KINDS)
def rows(request, monkeypatch):
    make, form = KINDS[request.param]
    if make is on_dask:
        request.getfixturevalue("here")
    if make is in_batches:
        source = pytest.importorskip("sarlearn.backends.batch_source")
        monkeypatch.setattr(source, "CHUNK_ROWS", 40)
    return make(form(DENSE))


def column_sums(block):
    return np.asarray(block.X.sum(axis=0)).ravel()


def weighted(block, factor):
    return factor * (block.X.T @ block.weight)


def doubled(block):
    return block.with_columns(matrix=2 * block.matrix)


def plus(block, start):
    return start + block.n_rows


def test_shape_and_slices(rows):
    assert rows.shape == (103, 5)
    ends = [cut.stop for cut in rows.slices]
    assert [cut.start for cut in rows.slices] == [0, *ends[:-1]]
    assert ends[-1] == 103
    assert rows.nnz == (np.count_nonzero(DENSE) if rows.is_sparse else DENSE.size)
    assert rows.units.is_plain


def test_totals(rows):
    np.testing.assert_allclose(rows.total(column_sums), DENSE.sum(axis=0), atol=1e-12)
    known = rows.attach(weight=np.arange(103.0))
    found = list(known.totals(weighted, [(1.0,), (2.0,), (3.0,)]))
    assert [request for request, _ in found] == [(1.0,), (2.0,), (3.0,)]
    for (factor,), total in found:
        np.testing.assert_allclose(total, factor * (DENSE.T @ np.arange(103.0)), atol=1e-9)


def test_each_block_may_have_an_argument(rows):
    starts = [cut.start for cut in rows.slices]
    assert rows.each(plus, per_block=starts) == [cut.stop for cut in rows.slices]


def test_map_attach_and_gather(rows):
    twice = rows.map(doubled)
    np.testing.assert_allclose(twice.total(column_sums), 2 * DENSE.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(rows.total(column_sums), DENSE.sum(axis=0), atol=1e-12)
    table = rng.random((103, 2))
    known = rows.attach(weight=np.arange(103.0), score=table, e=None)
    np.testing.assert_array_equal(known.gather(attrgetter("weight")), np.arange(103.0))
    np.testing.assert_array_equal(known.gather(attrgetter("score")), table)
    np.testing.assert_array_equal(known.gather(attrgetter("labelled")), LABELS)
    assert rows.attach(weight=None) is rows


def test_settled_rows_are_the_same(rows):
    known = rows.map(doubled).attach(weight=np.arange(103.0)).settled()
    assert (known.shape, known.nnz, known.is_sparse) == (rows.shape, rows.nnz, rows.is_sparse)
    np.testing.assert_allclose(known.total(column_sums), 2 * DENSE.sum(axis=0), atol=1e-12)
    np.testing.assert_array_equal(known.gather(attrgetter("labelled")), LABELS)
    twice = known.settled()
    np.testing.assert_array_equal(twice.gather(attrgetter("weight")), np.arange(103.0))
    np.testing.assert_allclose(twice.matvec(np.ones(5)), 2 * DENSE.sum(axis=1), atol=1e-12)


def test_products_and_parts(rows):
    np.testing.assert_allclose(rows.matvec(np.arange(5.0)), DENSE @ np.arange(5.0), atol=1e-12)
    numbers = np.array([0, 6, 7, 50, 102])
    taken = rows.take(numbers)
    taken = taken.toarray() if sparse.issparse(taken) else taken
    np.testing.assert_array_equal(taken, DENSE[numbers])
    part = rows.part(20)
    assert isinstance(part, RowBlocks)
    inside = np.concatenate([np.arange(cut.start, cut.stop) for cut in part.slices])
    same = in_memory(DENSE).part(20)
    np.testing.assert_array_equal(
        inside, np.concatenate([np.arange(cut.start, cut.stop) for cut in same.slices])
    )
    np.testing.assert_array_equal(part.gather(attrgetter("labelled")), LABELS[inside])
    assert rows.part(60) is None
