"""For the tests on Dask: a cluster of processes, data, and ways to cut and to compare them."""

import contextlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import warm
from conftest import make_pu
from sarlearn import SAREMClassifier

# Tests take these from here, so that a module is passed over where Dask is not installed.
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

quiet = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:unclosed")
N = 3000
continuous, discrete = make_pu(N, 6), make_pu(N, 6, discrete=True)
weight = np.random.default_rng(1).integers(0, 4, N).astype(float)


# What a worker imports for its first task.
PRELOADED = ["distributed", "dask.dataframe", "sarlearn.backends.dask_rows"]


@contextlib.contextmanager
def a_cluster(folder, n_workers: int):
    """Worker processes, as on as many machines; with a folder of their own for their locks.

    They are forks of a process that has imported what they need: two seconds less each.
    """
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context()  # has modules of its own to import, unless told after it
        warm.context(*PRELOADED)
        with (
            distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                local_directory=str(folder),
                silence_logs=50,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield cluster, client


def sar_em(columns=(), **settings):
    """A fit of few iterations: what is compared is the path, not where it ends."""
    return SAREMClassifier(columns, **({"window": 4, "tol": 0.05} | settings))


def one_task_a_partition(patch) -> None:
    """Small partitions as if each were large."""
    for limit in ("TASK_BYTES", "BUNDLE_BYTES", "KEPT_BYTES"):
        patch.setattr(f"sarlearn.backends.dask_read.{limit}", 1)


def cut(values, n_parts: int):
    """An array in uneven chunks, the third of them empty."""
    sizes = np.full(n_parts, len(values) // n_parts)
    sizes[-1] += len(values) - sizes.sum()
    if n_parts > 3:
        sizes[0] += sizes[2]
        sizes[2] = 0
    return da.from_array(values, chunks=(tuple(sizes.tolist()), *((-1,) * (values.ndim - 1))))


def sparse_chunks(X):
    return X.map_blocks(sparse.csr_array, dtype=float, meta=sparse.csr_array((0, X.shape[1])))


def unknown(X):
    X = X.copy()
    X._chunks = (tuple([np.nan] * X.numblocks[0]), *X.chunks[1:])
    return X


def frame(X, n_parts: int):
    return dd.from_pandas(pd.DataFrame(X, columns=list("abcdef")), npartitions=n_parts)


def agree(found, expected):
    for name in ("coef_", "intercept_", "propensity_coef_", "propensity_intercept_"):
        if hasattr(expected, name):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-8)
    # At a fixed point the last steps are so small that their rounding may decide for one more.
    more = 1 if getattr(expected, "stop", "") == "fixed_point" else 0
    assert abs(found.n_iter_ - expected.n_iter_) <= more
    assert found.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-8)
    assert found.label_frequency_ == pytest.approx(expected.label_frequency_, abs=1e-8)
    np.testing.assert_array_equal(found.classes_, expected.classes_)


def clone_fit(model, data, **fit):
    return clone(model).fit(data.X, data.s, **fit)
