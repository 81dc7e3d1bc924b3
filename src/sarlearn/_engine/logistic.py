"""Logistic regression with fractional targets.

The loss of a row with logit ``eta`` and target ``t`` is ``log(1 + exp(eta)) - t * eta``: for
``t`` in [0, 1] the cross-entropy. Storing a row twice, with weights ``t`` and ``1 - t``, gives
the same loss; no row is stored twice here. The objective is

    sum_i w_i loss_i + |coef|^2 / (2 C)

with an intercept that is not penalised. A parameter vector holds the coefficients, then the
intercept.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from sarlearn._engine.blocks import Block
from sarlearn._engine.kernels import hessian, logistic_terms, logits, with_intercept
from sarlearn._engine.newton import (
    DENSE_COLUMNS,
    Climb,
    Curvature,
    Iterate,
    Sums,
    WideCurvature,
    climb,
    curvature_at,
)
from sarlearn._engine.rows import Rows

# Starting a large fit on a twentieth of its rows saves most Newton steps on the whole.
SUBSAMPLE_ROWS = 20_000


@dataclass
class LogisticSums(Sums):
    """Value, gradient and Hessian of the loss over some rows (without the penalty); their weight.

    With the weight here a fit needs no pass of its own for it: rows that are read anew each time
    cost the same for a count as for a Hessian.
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray | None = None
    weight: float = 0.0


class RowCurvature:
    """``w f (1 - f)`` of each row of a block: kept by the pass at ``theta``, or made again."""

    def __init__(self, theta: np.ndarray):
        self.theta = theta
        self._key: Any = theta.tobytes()

    def keep(self, block: Block, h: np.ndarray) -> None:
        block.cache["curvature"] = self._key, h

    def __call__(self, block: Block) -> np.ndarray:
        return block.remember("curvature", self._key, partial(self._of, block))

    def _of(self, block: Block) -> np.ndarray:
        eta = logits(block.X, self.theta)
        curvatures = logistic_terms(eta, np.zeros(len(eta)), block.weight, True)[2]
        assert curvatures is not None
        return curvatures


class LogisticProblem:
    """Logistic regression of the targets that ``target`` gives for a block.

    Ridge and tolerance are known after the first pass, which adds up the weight.
    """

    def __init__(self, rows: Rows, target: Callable, C: float, tol: float):
        self._rows, self._target, self._C, self.tol = rows, target, C, tol**2 / 2
        self._wide = rows.shape[1] > DENSE_COLUMNS
        self.ridge = np.empty(0)

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        requests = ((self._target, theta, with_hessian, self._wide) for theta in points)
        for (_, theta, *_), sums in self._rows.totals(logistic_pass, requests):
            if not len(self.ridge):
                self.ridge = self._rows.units.ridge(self._C, sums.weight)
                self.tol *= sums.weight
            value = sums.value + float(self.ridge @ theta**2) / 2
            yield Iterate(theta, value, sums.gradient + self.ridge * theta, sums, with_hessian)

    def curvature(self, iterate: Iterate) -> Curvature | WideCurvature:
        of_rows = RowCurvature(iterate.theta)
        return curvature_at(self._rows, of_rows, iterate.sums.hessian, self.ridge)


def fit_logistic(
    rows: Rows,
    target: np.ndarray | Callable,
    weight: np.ndarray | None,
    C: float,
    *,
    start: np.ndarray | None = None,
    curvature: Curvature | WideCurvature | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    report: Callable[[Iterate], None] = lambda iterate: None,
) -> Climb:
    """Minimise the penalised loss.

    Stops when the root mean square change of the logits that one more step would make (weighted by
    ``f (1 - f)``) is below ``tol``; that step is still taken. ``start`` and ``curvature`` may come
    from another fit: the curvature does not depend on the targets. ``target`` is an array, or a
    function that gives the targets of a block; ``weight`` None means the rows' own. ``report`` is
    called with each iterate that is reached on all rows.
    """
    if not callable(target):
        rows, target = rows.attach(target=target), attrgetter("target")
    rows = rows.attach(weight=weight)
    if start is None:
        start = np.zeros(rows.shape[1] + 1)
        part = rows.part(SUBSAMPLE_ROWS)
        if part is not None:
            start = fit_logistic(part, target, None, C, start=start, tol=1e-2).theta
    problem = LogisticProblem(rows, target, C, tol)
    return climb(
        problem, start, max_iter=max_iter, curvature=curvature, last_step=True, report=report
    )


def logistic_pass(block: Block, target, theta, with_hessian: bool, wide: bool) -> LogisticSums:
    """Value and gradient; if asked the Hessian, or where wide the curvature of each row."""
    X, t, weight = block.X, target(block), block.weight
    value, residual, h = logistic_terms(logits(X, theta), t, weight, with_hessian)
    sums = LogisticSums(value, with_intercept(X, residual), weight=block.total_weight)
    if h is not None:
        if wide:
            RowCurvature(theta).keep(block, h)
        else:
            sums.hessian = hessian(X, h)
    return sums
