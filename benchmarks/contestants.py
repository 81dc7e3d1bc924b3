"""The contestants, each as a function of a problem that returns an :class:`Outcome`."""

import resource
import signal
import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from benchmarks.naive import NaiveSAREM
from benchmarks.workloads import Problem
from sarlearn import SAREMClassifier

# Iterations timed at either end of the path where the whole would take too long.
END_ITERATIONS = 3
DENSE_BYTES = 2**28
PEER_BYTES = 12 * 2**30


@dataclass
class Outcome:
    """CPU and wall seconds of one fit; ``extrapolated`` says how they were had, where not run."""

    cpu: float
    wall: float
    iterations: int
    classifier: np.ndarray | None = None
    propensity: np.ndarray | None = None
    converged: bool = True
    extrapolated: bool = False
    note: str = ""
    extra: dict = field(default_factory=dict)


class TimeLimit(Exception):
    """The CPU seconds a contestant was given are over."""


class DidNotFinish(Exception):
    """No time of a whole fit is known, and none is made up from a part of it."""


def sarlearn(problem: Problem, *, stop: str, tol: float | None = None) -> Outcome:
    """The package itself."""
    model = SAREMClassifier(problem.columns, stop=stop, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, wall = time.process_time(), time.perf_counter()
        model.fit(problem.X, problem.s)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Outcome(
        cpu,
        wall,
        model.n_iter_,
        np.append(model.coef_[0], model.intercept_[0]),
        np.append(model.propensity_coef_[0], model.propensity_intercept_[0]),
        converged=bool(model.converged_),
    )


def naive(problem: Problem, *, limit: float, expected: int, endpoint, as_csr=False) -> Outcome:
    """The published way. The published code takes dense arrays only, so sparse data are unpacked
    where they fit, unless ``as_csr``.

    If the ``expected`` iterations would take more than ``limit`` CPU seconds, a few are timed from
    the start and as many from the ``endpoint`` (parameters), and the rest is taken to cost the
    mean of these.
    """
    X = problem.X
    if sparse.issparse(X) and not as_csr and np.prod(X.shape, dtype=float) * 8 < DENSE_BYTES:
        X = X.toarray()
    model = NaiveSAREM(problem.columns)
    wall = time.perf_counter()
    model.start(X, problem.s)
    met = model.iterate(X)
    one = model.seconds[0]
    n_iter = 1
    if model.start_seconds + expected * one <= limit:
        while not met and n_iter < model.max_iter:
            met = model.iterate(X)
            n_iter += 1
        wall = time.perf_counter() - wall
        cpu = model.start_seconds + sum(model.seconds)
        extra = {"check": _extrapolate(model, n_iter, model.seconds) / cpu}
        return Outcome(cpu, wall, n_iter, *model.parameters, converged=met, extra=extra)
    at_each_end = int(np.clip(limit / 2 / one / 2, 1, END_ITERATIONS))
    for _ in range(1, at_each_end):
        model.iterate(X)
    model.jump(X, *endpoint)
    for _ in range(at_each_end):
        model.iterate(X)
    cpu = _extrapolate(model, expected, model.seconds)
    timed = len(model.seconds)
    note = f"extrapolated from {timed} iterations"
    return Outcome(cpu, cpu, expected, extrapolated=True, note=note)


def _extrapolate(model: NaiveSAREM, n_iter: int, seconds: list[float]) -> float:
    ends = seconds[:END_ITERATIONS] + seconds[-END_ITERATIONS:]
    if len(seconds) <= 2 * END_ITERATIONS:
        ends = seconds
    return model.start_seconds + n_iter * float(np.mean(ends))


def pysarpu(problem: Problem, *, limit: float) -> Outcome:
    """The peer, with its own start and stop rule, without penalty or decay.

    Cut off after ``limit`` CPU seconds: how many iterations of its own it would have taken is not
    known, so it did not finish, and has no time.
    """
    from pysarpu import PUClassifier
    from pysarpu.classification import LinearLogisticRegression
    from pysarpu.propensity import LogisticPropensity

    # It holds a dozen copies of the stacked data: an error is better than a machine that swaps.
    resource.setrlimit(resource.RLIMIT_AS, (PEER_BYTES, PEER_BYTES))
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    Xe = X[:, problem.columns]
    np.random.seed(0)  # noqa: NPY002 - it draws its start from the global state

    model = PUClassifier(LinearLogisticRegression(), LogisticPropensity())

    def over(*_):
        raise TimeLimit

    signal.signal(signal.SIGPROF, over)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, wall = time.process_time(), time.perf_counter()
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            model.fit(X, Xe, problem.s)
            finished = True
        except TimeLimit:
            finished = False
        except MemoryError:
            raise MemoryError(f"needs more than {PEER_BYTES / 2**30:.0f} GB") from None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    n_iter = max(len(model.history) - 1, 0)
    if finished:
        # Its parameters begin with the intercept.
        f, e = np.roll(model.cmodel.params, -1), np.roll(model.emodel.params, -1)
        return Outcome(cpu, wall, n_iter, f, e)
    raise DidNotFinish(f"did not finish: {n_iter} iterations in {cpu:.0f} s")
