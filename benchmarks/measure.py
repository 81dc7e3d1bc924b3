"""One measurement in a process of its own: ``python -m benchmarks.measure JOB`` prints JSON.

A job is a JSON object; ``kind`` names the function below that does it, the rest are its arguments.
Memory and threads are clean only in a fresh process, so every job gets one.
"""

import contextlib
import json
import math
import re
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks import contestants
from benchmarks.counters import Counts, counting
from benchmarks.memory import memory_now, memory_peak
from benchmarks.workloads import BY_KEY, Problem, coded_table, tall
from sarlearn._engine import em

TIGHT = 1e-11
# The stop rule of each of our contestants; "numpy" is without the compiled extra.
OURS = {"slope": "slope", "slope_numpy": "slope", "fixed_point": "fixed_point"}


def main() -> None:
    job = json.loads(sys.argv[1])
    result = JOBS[job.pop("kind")](**job)
    print(json.dumps(result))


# -- fits ------------------------------------------------------------------------------------


def fit(workload, method, rows=None, limit=60.0, repeat_seconds=5.0, repeats=15, saved=".",
        record=True) -> dict:  # fmt: skip
    """Time one contestant on one workload: the best of several runs, and the memory of the first.

    ``saved`` is a directory: the endpoint is left there, and the naive way finds there the one
    from which it times its last iterations. Without ``record`` only time and memory are taken.
    """
    problem = BY_KEY[workload].problem(rows)
    run = _contestant(method, problem, limit, Path(saved) / f"{workload}-slope.npz")
    _warm_up(method)
    before = memory_now()
    with counting(problem.X.shape[1]) as counts:
        outcomes = [run()]
    added = memory_peak() - before
    while sum(o.cpu for o in outcomes) < repeat_seconds and len(outcomes) < repeats:
        outcomes.append(run())
    best = min(outcomes, key=lambda outcome: outcome.cpu)
    if record and best.classifier is not None:
        np.savez(
            Path(saved) / f"{workload}-{method}.npz",
            classifier=best.classifier,
            propensity=best.propensity,
            iterations=best.iterations,
        )
    result = {
        "rows": problem.X.shape[0],
        "columns": problem.X.shape[1],
        "x_bytes": problem.n_bytes,
        "added_bytes": max(added, 0),
        "cpu": best.cpu,
        "wall": min(outcome.wall for outcome in outcomes),
        "iterations": best.iterations,
        "converged": best.converged,
        "extrapolated": best.extrapolated,
        "note": best.note,
        "runs": len(outcomes),
        **best.extra,
    }
    if record and method in OURS:
        result |= _bound(problem, counts)
    return result


def _contestant(method, problem: Problem, limit, start):
    """A function without arguments that runs a contestant once."""
    if method in OURS:
        return lambda: contestants.sarlearn(problem, stop=OURS[method])
    with np.load(start) as stored:
        expected = int(stored["iterations"])
        endpoint = stored["classifier"], stored["propensity"]
    if method == "pysarpu":
        return lambda: contestants.pysarpu(problem, limit=limit)
    as_csr = method == "naive_csr"
    return lambda: contestants.naive(
        problem, limit=limit, expected=expected, endpoint=endpoint, as_csr=as_csr
    )


def _bound(problem: Problem, counts: Counts) -> dict:
    """What the machine would need at least: X read once per pass, and the flops of the Hessians."""
    entries = problem.X.nnz if sparse.issparse(problem.X) else problem.X.size
    reads = counts.elements / entries
    read = read_seconds(problem)
    rate = gemm_rate()
    return {
        "passes": counts.em_passes,
        "reads": reads,
        "hessians": counts.gram_rows / problem.X.shape[0],
        "read_seconds": read,
        "gemm_rate": rate,
        "bound": reads * read + counts.gram_flops / rate,
    }


def read_seconds(problem: Problem) -> float:
    """CPU seconds to read X once from end to end: the faster of a sum and a dot product."""
    if sparse.issparse(problem.X):
        parts = [problem.X.data, problem.X.indices.view(np.float32)]
    else:
        parts = [problem.X.reshape(-1, order="A")]
    best = np.inf
    with threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
        for _ in range(5):
            for read in (np.sum, lambda part: part @ part):
                began = time.process_time()
                for part in parts:
                    read(part)
                best = min(best, time.process_time() - began)
    return best


def gemm_rate() -> float:
    """Flops a CPU second of a large product in float64, on one thread."""
    A = np.random.default_rng(0).random((1024, 1024))
    best = np.inf
    with threadpool_limits(1, user_api="blas"):
        for _ in range(8):
            began = time.process_time()
            A @ A
            best = min(best, time.process_time() - began)
    return 2 * 1024.0**3 / best


def distances(workload, rows=None, saved=None) -> dict:
    """How far each endpoint is from the fixed point, found tightly and checked apart from it."""
    problem = BY_KEY[workload].problem(rows)
    tight = contestants.sarlearn(problem, stop="fixed_point", tol=TIGHT)
    f, e = _predictions(problem, tight.classifier, tight.propensity)
    result = {
        "tight_iterations": tight.iterations,
        "tight_converged": tight.converged,
        **_residual(problem, tight.classifier, tight.propensity, f, e),
    }
    for path in sorted(Path(saved).glob(f"{workload}-*.npz")):
        with np.load(path) as stored:
            f_there, e_there = _predictions(problem, stored["classifier"], stored["propensity"])
        f_off, e_off = np.abs(f_there - f), np.abs(e_there - e)
        result[path.stem.removeprefix(f"{workload}-")] = {
            "f_max": f_off.max(),
            "f_mean": f_off.mean(),
            "e_max": e_off.max(),
            "e_mean": e_off.mean(),
            "prior": f_there.mean(),
        }
    return result


def _predictions(problem: Problem, classifier, propensity):
    f = expit(problem.X @ classifier[:-1] + classifier[-1])
    return f, expit(problem.X[:, problem.columns] @ propensity[:-1] + propensity[-1])


def _residual(problem: Problem, classifier, propensity, f, e, decay=0.9) -> dict:
    """Largest gradient of the two M-steps towards the targets of an E-step at the same point.

    Zero says that EM stands still. Written from the paper's formulas, without the package. The
    objectives curve by at least 1/C = 1 in every coefficient, so with the intercepts at their
    optimum the gradient's length bounds how far an exact M-step would move the coefficients.
    """
    labelled = problem.s == 1
    q = np.where(labelled, 1.0, f * (1 - decay * e) / (f * (1 - decay * e) + 1 - f))
    Xe = problem.X[:, problem.columns]
    classifier_gradient = np.append(problem.X.T @ (f - q) + classifier[:-1], (f - q).sum())
    surplus = q * (e - labelled)
    propensity_gradient = np.append(Xe.T @ surplus + propensity[:-1], surplus.sum())
    return {
        "residual_f": float(np.linalg.norm(classifier_gradient)),
        "residual_e": float(np.linalg.norm(propensity_gradient)),
    }


# -- against the number of rows -------------------------------------------------------------


def scale(rows, method, dtype="float64", repeat_seconds=4.0) -> dict:
    """CPU seconds of one fit of so many rows and 20 columns, the best of several."""
    problem = tall(rows, "scaling", dtype=np.dtype(dtype))
    _warm_up(method)
    before = memory_now()
    outcomes = [contestants.sarlearn(problem, stop=OURS[method])]
    added = memory_peak() - before
    while sum(o.cpu for o in outcomes) < repeat_seconds and len(outcomes) < 25:
        outcomes.append(contestants.sarlearn(problem, stop=OURS[method]))
    best = min(outcomes, key=lambda outcome: outcome.cpu)
    return {
        "cpu": best.cpu,
        "iterations": best.iterations,
        "x_bytes": problem.n_bytes,
        "added_bytes": max(added, 0),
        "runs": len(outcomes),
    }


# -- before anything is measured ------------------------------------------------------------


def _warm_up(method) -> None:
    """Load what a first fit loads, so that it is not taken for memory or time of the data."""
    problem = coded_table(300, 5, 4, "warm")
    if method == "pysarpu":
        with contextlib.suppress(contestants.DidNotFinish):
            contestants.pysarpu(problem, limit=0.5)
    elif method.startswith("naive"):
        parameters = np.zeros(6), np.zeros(4)
        contestants.naive(problem, limit=60.0, expected=1, endpoint=parameters)
    elif method.endswith("_numpy"):
        em.COMPILED_ELEMENTS = math.inf
        contestants.sarlearn(problem, stop=OURS[method])
    else:
        with mock.patch.object(em, "COMPILED_ELEMENTS", 0):
            contestants.sarlearn(problem, stop=OURS[method])


# -- the machine and the start of a process -----------------------------------------------------


def machine() -> dict:
    """Cores, processor and versions."""
    import platform
    import subprocess

    import joblib
    import scipy
    import sklearn
    from threadpoolctl import threadpool_info

    import sarlearn

    name = platform.processor() or platform.machine()
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        found = re.search(r"model name\s*:\s*(.+)", cpu_info.read_text())
        name = found.group(1) if found else name
    blas = [
        f"{b['internal_api']} {b['version']}" for b in threadpool_info() if b["user_api"] == "blas"
    ]
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, cwd=Path(__file__).parent)
    return {
        "processor": name,
        "cores": joblib.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "sarlearn": f"{sarlearn.__version__} {commit.stdout.strip()}".strip(),
        "BLAS": ", ".join(sorted(blas)),
        "GEMM, one thread, Gflop/s": round(gemm_rate() / 1e9, 1),
    }


JOBS = {
    "fit": fit,
    "distances": distances,
    "scale": scale,
    "machine": machine,
}

if __name__ == "__main__":
    main()
