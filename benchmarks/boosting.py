"""What a boosted fit from biased labels costs, against one ordinary fit of boosting.

    python -m benchmarks.boosting                     # 5,000 and 100,000 rows; both data sets
    python -m benchmarks.boosting --rows 1000000 --data simulated

CPU seconds of ``BoostedSARClassifier`` with one propensity feature, and of scikit-learn's
``HistGradientBoostingClassifier`` with its defaults on the same rows and labels, one thread each,
in one process, after a small fit of both. ``grown_mb`` is by how much the memory of the process
grew at most during the boosted fit (Linux tells); ``binned_mb`` what the rows take at one byte per
value. Lines replace those of the same data and rows in ``results/boosting.csv``.
"""

import argparse
import csv
import multiprocessing
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

RESULTS = Path(__file__).parent / "results" / "boosting.csv"
COLUMNS = [
    "data", "rows", "columns", "ordinary_cpu_seconds", "boosted_cpu_seconds", "ratio", "rounds",
    "grown_mb", "binned_mb",
]  # fmt: skip


def rows_of(data: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and true classes."""
    rng = np.random.default_rng(0)
    if data == "Cover Type":
        from experiments.data_sets import load_covtype

        bunch = load_covtype()
        chosen = rng.permutation(len(bunch.y))[:n_rows]
        return np.ascontiguousarray(bunch.X[chosen], dtype=float), bunch.y[chosen] == 1
    X = rng.random((n_rows, 20))
    value = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    eta = 0.8 * (value + 10 * X[:, 3] + 5 * X[:, 4] - 14.4)
    return X, rng.random(n_rows) < expit(eta)


def measure(data: str, n_rows: int, repeats: int) -> dict:
    """One line of the table; the median where repeated."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from sarlearn import BoostedSARClassifier

    X, y = rows_of(data, n_rows)
    e = expit((X[:, 0] - X[:, 0].mean()) / X[:, 0].std())
    s = y & (np.random.default_rng(1).random(len(y)) < e)
    boosted = BoostedSARClassifier([0], random_state=0)
    warnings.simplefilter("ignore")
    for model in (HistGradientBoostingClassifier(max_iter=5), boosted):
        model.fit(X[:800], s[:800])
    seconds: dict[str, list[float]] = {"ordinary": [], "boosted": []}
    before = _start_of_peak_mb()
    for _ in range(repeats):
        ordinary = HistGradientBoostingClassifier(random_state=0)
        for name, model in (("boosted", boosted), ("ordinary", ordinary)):
            began = time.process_time()
            model.fit(X, s)
            seconds[name].append(time.process_time() - began)
            if name == "boosted" and len(seconds[name]) == 1:
                grown = _memory_mb("VmHWM") - before
    medians = {name: float(np.median(values)) for name, values in seconds.items()}
    return {
        "data": data,
        "rows": len(y),
        "columns": X.shape[1],
        "ordinary_cpu_seconds": round(medians["ordinary"], 3),
        "boosted_cpu_seconds": round(medians["boosted"], 3),
        "ratio": round(medians["boosted"] / medians["ordinary"], 2),
        "rounds": boosted.n_iter_,
        "grown_mb": round(grown),
        "binned_mb": round(X.size / 1e6, 1),
    }


def _start_of_peak_mb() -> float:
    """Memory now; the largest is counted from here on."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory_mb("VmRSS")


def _memory_mb(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def main(arguments: list[str] | None = None) -> None:
    """Measure each size in a process of its own, and put it into the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 100_000])
    parser.add_argument("--data", nargs="+", default=["Cover Type", "simulated"])
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args(arguments)
    lines = {}
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8", newline="") as stream:
            lines = {(row["data"], row["rows"]): row for row in csv.DictReader(stream)}
    context = multiprocessing.get_context("spawn")
    for data in options.data:
        for n_rows in options.rows:
            with context.Pool(1) as pool:
                line = pool.apply(measure, (data, n_rows, options.repeats))
            print(line)
            lines[data, str(line["rows"])] = {key: str(value) for key, value in line.items()}
            ordered = [lines[key] for key in sorted(lines, key=lambda k: (k[0], int(k[1])))]
            body = "".join(",".join(row[name] for name in COLUMNS) + "\n" for row in ordered)
            part = RESULTS.with_suffix(".part")
            part.write_text(",".join(COLUMNS) + "\n" + body, encoding="utf-8")
            part.replace(RESULTS)


if __name__ == "__main__":
    main()
