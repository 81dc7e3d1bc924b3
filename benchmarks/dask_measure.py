"""One measurement on a Dask cluster of this machine: ``python -m benchmarks.dask_measure JSON``.

Rows are made by formula from the number of their block, the same on every machine and in memory,
so that nothing is shipped and data larger than memory need no disk.
"""

import json
import pickle
import sys
import threading
import time

import numpy as np
from scipy.special import expit

from sarlearn import SAREMClassifier
from sarlearn.backends import dask_rows as parallel

COLUMNS, PROPENSITY = 20, [0, 1]
# float64 columns, and per row the label.
ROW_BYTES = 8 * COLUMNS


def make_block(number: int, n_rows: int) -> np.ndarray:
    """Columns and, last, the label of one block: logistic class, logistic propensity."""
    rng = np.random.default_rng([7, number])
    X = rng.standard_normal((n_rows, COLUMNS + 1))
    coef = np.random.default_rng(7).standard_normal(COLUMNS)
    y = rng.random(n_rows) < expit(X[:, :COLUMNS] @ coef)
    e = expit(X[:, 0] - X[:, 1])
    X[:, COLUMNS] = y & (rng.random(n_rows) < e)
    return X


def lazy(rows: int, block_rows: int):
    """The rows as a Dask Array, and their labels."""
    import dask.array as da
    from dask import delayed

    sizes = [min(block_rows, rows - start) for start in range(0, rows, block_rows)]
    blocks = [
        da.from_delayed(delayed(make_block)(k, n), (n, COLUMNS + 1), float)
        for k, n in enumerate(sizes)
    ]
    table = da.concatenate(blocks)
    # Rows in one piece, as they are in memory.
    return table[:, :COLUMNS].map_blocks(np.ascontiguousarray), table[:, COLUMNS]


def in_memory(rows: int, block_rows: int):
    sizes = [min(block_rows, rows - start) for start in range(0, rows, block_rows)]
    X, s = np.empty((rows, COLUMNS)), np.empty(rows)
    for k, n in enumerate(sizes):
        block = make_block(k, n)
        where = slice(k * block_rows, k * block_rows + n)
        X[where], s[where] = block[:, :COLUMNS], block[:, COLUMNS]
    return X, s


class Meter:
    """Counts passes, their wall time, and the bytes of requests and answers."""

    def __init__(self):
        self.passes, self.seconds, self.tasks, self.sent, self.received = 0, 0.0, 0, 0, 0
        self._sums = parallel.DaskRows._sums

    def __enter__(self):
        def counted(rows, function, requests):
            begun = time.perf_counter()
            found = self._sums(rows, function, requests)
            self.seconds += time.perf_counter() - begun
            self.passes += 1
            self.tasks = len(rows._keys)
            self.sent = max(self.sent, len(pickle.dumps(requests)))
            self.received = max(self.received, len(pickle.dumps(found)))
            return found

        parallel.DaskRows._sums = counted
        return self

    def __exit__(self, *failure):
        parallel.DaskRows._sums = self._sums


class MemoryWatch(threading.Thread):
    """The largest memory of a worker process, looked at every half second."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.peak, self.over = client, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.5):
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            for worker in workers:
                self.peak = max(self.peak, worker.get("metrics", {}).get("memory", 0))


def measure(
    rows: int, block_rows: int, workers: int, memory_gb: float | None, max_iter: int, keep: bool
) -> dict:
    """Fit on a cluster of ``workers`` processes; ``keep`` holds the rows there beforehand."""
    from distributed import Client, LocalCluster, wait

    limit = 0 if memory_gb is None else int(memory_gb * 1e9)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
        Meter() as meter,
    ):
        X, s = lazy(rows, block_rows)
        # Imports, and the compiled pass, on every worker: enough rows for all of them.
        SAREMClassifier(PROPENSITY).fit(*lazy(500_000, 50_000))
        if keep:
            X, s = client.persist([X, s])
            wait([X, s])
        meter.passes, meter.seconds = 0, 0.0
        watch = MemoryWatch(client)
        watch.start()
        begun = time.perf_counter()
        model = fit(X, s, max_iter)
        wall = time.perf_counter() - begun
        watch.over.set()
        watch.join()
    return {
        "wall": wall,
        "iterations": model.n_iter_,
        "passes": meter.passes,
        "pass_seconds": meter.seconds / meter.passes,
        "tasks": meter.tasks,
        "sent_bytes": meter.sent,
        "received_bytes": meter.received,
        "peak_worker_gb": watch.peak / 1e9,
        "data_gb": rows * ROW_BYTES / 1e9,
        "class_prior": model.class_prior_,
    }


def fit(X, s, max_iter: int) -> SAREMClassifier:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():  # a few iterations are enough to time one
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SAREMClassifier(PROPENSITY, max_iter=max_iter).fit(X, s)


def measure_in_memory(rows: int, block_rows: int, max_iter: int) -> dict:
    X, s = in_memory(rows, block_rows)
    fit(*in_memory(2000, 1000), max_iter)
    begun = time.perf_counter()
    model = fit(X, s, max_iter)
    wall = time.perf_counter() - begun
    return {"wall": wall, "iterations": model.n_iter_, "class_prior": model.class_prior_}


if __name__ == "__main__":
    what = json.loads(sys.argv[1])
    kind = what.pop("kind")
    print(json.dumps((measure if kind == "dask" else measure_in_memory)(**what)))
