"""Fits of ``f`` with known propensity without each fold in turn, for one penalty after the other.

A fit without a fold is close to the fit to all rows. One pass at the latter gives value, gradient
and Hessian of the rows that each fold leaves out; what is left of the sums of all rows is the
fold's own, and a Newton step from there is nearly its last. So a fold takes a pass or two, and no
Hessian of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block, add_up
from sarlearn._engine.em import EMSums, Point, em_pass
from sarlearn._engine.kernels import NOTHING, sigmoids
from sarlearn._engine.known import KnownPropensityProblem, fit_known, known_at
from sarlearn._engine.likelihood import evidence_of_labels
from sarlearn._engine.newton import Climb, Curvature, Iterate, Sums, climb
from sarlearn._engine.rows import Rows, run_of

# What ``Block.folds`` says of a row and a fold.
TRAINS, HELD_OUT = 1, 2
# How close to their optimum the fits come, in nats: per unit of weight, and at most. With less,
# fits of few rows stopped on plateaus.
FOLD_TOLERANCE, LARGEST_TOLERANCE = 1e-6, 1e-2
# How close the fit to all rows comes to its optimum, in nats: the folds step away from it anyway.
BASE_TOLERANCE = 0.1
# Elements that the Hessians of all folds may have, 256 MB; more of them would cost more to keep
# than the passes that they save.
LARGEST_HESSIANS = 2**25
MAX_PASSES = 500
# Up to so many rows of a block, a copy costs less than calls for two pieces in each pass.
COPIED_ROWS = 2000
# With fewer rows per column than this, likelihoods may have several maxima.
ROUGH = 200
# Two points count as belonging to one maximum if the fit took at most so many passes, and if value
# and slope at the other point are those of a parabola up to this factor.
FEW_PASSES, PARABOLIC = 4, 1.5


@dataclass
class FoldSums(Sums):
    """Of the rows that each fold leaves out, and last of all rows."""

    log_likelihood: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    def without(self, fold: int | None) -> EMSums:
        """The sums of all rows, but for those that a fold leaves out."""
        parts = (self.log_likelihood, self.gradient, self.hessian)
        value, gradient, hessian = (
            part[-1] if fold is None else part[-1] - part[fold] for part in parts
        )
        return EMSums(value, np.nan, NOTHING, gradient, gradient, hessian=hessian)


def rows_per_column(rows: Rows) -> float:
    """Of the columns that the class model may use."""
    excluded = rows.units.excluded
    n_columns = rows.shape[1] - (0 if excluded is None else int(excluded.sum()))
    return rows.shape[0] / max(n_columns, 1)


class FoldFits:
    """The fits on rows that know their labels, weights, propensities and folds.

    Parameters
    ----------
    rows : Rows
    n_folds : int
    start : ndarray of shape (n_columns + 1,)
        Parameters near the first fit.
    tol : float, default=None
        In nats.
    """

    def __init__(self, rows: Rows, n_folds: int, start: np.ndarray, tol: float | None = None):
        self._rows, self._n_folds = rows.sorted_by(_first_left_out), n_folds
        self._weights = rows.total(_training_weights)
        self._tol = tol or min(FOLD_TOLERANCE * float(self._weights[-1]), LARGEST_TOLERANCE)
        self._rough = rows_per_column(rows) < ROUGH
        self._keeps_hessians = (n_folds + 1) * len(start) ** 2 <= LARGEST_HESSIANS
        self._thetas = np.tile(start, (n_folds, 1))
        self.base, self._sums = start, None  # of the fit to all rows

    def solve(self, C: float) -> np.ndarray:
        """Parameters of the fit without each fold, of shape (n_folds, n_columns + 1)."""
        if self._keeps_hessians:
            self._fit_to_all(C)
        for fold in range(self._n_folds):
            self._thetas[fold] = self._fit_without(fold, C)
        return self._thetas.copy()

    def held_out_likelihood(self, thetas: np.ndarray) -> float:
        """Of the labels, by the scores of the fits that have not seen them."""
        return float(self._rows.total(_log_likelihood, thetas))

    def _fit_to_all(self, C: float) -> None:
        problem = _AllRows(self._rows, self._ridge(C, -1), BASE_TOLERANCE)
        # Where the fit of the last penalty ended, the first step needs no pass.
        start = self.base if self._sums is None else problem.iterate(self.base, self._sums, True)
        found = climb(problem, start, max_iter=MAX_PASSES, refresh=0)
        self.base, self._sums = found.iterate.theta, found.iterate.sums

    def _fit_without(self, fold: int, C: float) -> np.ndarray:
        if self._sums is None:  # Hessians are too large: from the fit of the last penalty
            training, start = self._rows.map(_training, fold), self._thetas[fold]
            return fit_known(training, C, start, tol=self._tol, max_iter=MAX_PASSES).theta
        problem = _WithoutFold(self._rows, self._ridge(C, fold), self._tol, fold)
        start = problem.iterate(self.base, self._sums.without(fold), True)
        # The last step matters here: the start has seen the rows that are held out, and without
        # that step the held-out likelihood is too high.
        found = climb(problem, start, max_iter=MAX_PASSES, last_step=True)
        if self._rough:
            # Of several maxima the one next to the start need not be the best, and the start has
            # seen what is held out: the held-out likelihood would be too high by several nats.
            (start,) = problem.passes([self._thetas[fold]], False)
            if not _leads_to(found, start):
                other = climb(problem, start.theta, max_iter=MAX_PASSES, last_step=True)
                found = min(found, other, key=attrgetter("value"))
        return found.theta

    def _ridge(self, C: float, fold: int) -> np.ndarray:
        return self._rows.units.ridge(C, float(self._weights[fold]))


def _leads_to(found: Climb, start: Iterate) -> bool:
    """Whether a climb from ``start`` would end where this one did, without making it.

    Newton's method is slow near a saddle; and between two maxima the objective is no parabola.
    """
    assert isinstance(found.curvature, Curvature)  # Hessians are kept
    away = start.theta - found.theta
    rise = found.curvature.along(away) / 2
    seen = start.value - found.value, float(start.gradient @ away) / 2
    parabolic = all(rise <= PARABOLIC * value <= PARABOLIC**2 * rise for value in seen)
    return found.passes <= FEW_PASSES and parabolic


class _AllRows(KnownPropensityProblem):
    """The problem on all rows, whose passes tell those apart that each fold leaves out."""

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        requests = ((known_at(theta),) for theta in points)
        for (here,), sums in self.rows.totals(fold_pass, requests):
            yield self.iterate(here.theta, sums, True)

    def iterate(self, theta: np.ndarray, sums, with_hessian: bool) -> Iterate:
        return replace(super().iterate(theta, sums.without(None), with_hessian), sums=sums)

    def curvature(self, iterate: Iterate) -> Curvature:
        return Curvature(iterate.sums.hessian[-1], self.ridge)


class _WithoutFold(KnownPropensityProblem):
    """The problem on the rows that train in a fold."""

    def __init__(self, rows: Rows, ridge: np.ndarray, tol: float, fold: int):
        super().__init__(rows, ridge, tol)
        self._fold = fold

    def passes(self, points: Iterable[np.ndarray], with_hessian: bool) -> Iterator[Iterate]:
        kind = "signed" if with_hessian else None
        requests = ((self._fold, known_at(theta), kind) for theta in points)
        for (_, here, _), sums in self.rows.totals(training_pass, requests):
            yield self.iterate(here.theta, sums, with_hessian)


def fold_fits(
    rows: Rows, n_folds: int, Cs: Sequence[float], start: np.ndarray, tol: float | None = None
) -> np.ndarray:
    """Parameters of the fits without each fold, for each of ``Cs``: (n_folds, n_columns + 1, n_Cs).

    Ascending ``Cs``, each fit warm from the one before.
    """
    fits, thetas = FoldFits(rows, n_folds, start, tol), np.empty((n_folds, len(start), len(Cs)))
    for i in np.argsort(Cs):
        thetas[:, :, i] = fits.solve(float(Cs[i]))
    return thetas


# -- what is done to a block -------------------------------------------------------------------


def fold_pass(block: Block, here: Point) -> FoldSums:
    """Sums of the rows that each fold leaves out, and of all."""
    left_out = block.folds != TRAINS
    pieces = block.remember("left out", None, lambda: [block.some(run_of(m)) for m in left_out.T])
    parts = [_known_sums(piece, here) for piece in pieces]
    if (left_out.sum(axis=1) == 1).all():
        whole = tuple(sum(each) for each in zip(*parts, strict=True))
    else:
        whole = _known_sums(block, here)
    return FoldSums(*(np.array(each) for each in zip(*parts, whole, strict=True)))


def _known_sums(block: Block, here: Point) -> tuple:
    sums = em_pass(block, here, None, "signed", False)
    return sums.log_likelihood, sums.next_gradient, sums.hessian


def training_pass(block: Block, fold: int, here: Point, curvature: str | None) -> EMSums:
    """The sums of the rows that train in a fold."""
    pieces = block.remember("training", fold, lambda: _training_pieces(block, fold))
    return add_up(em_pass(piece, here, None, curvature, False) for piece in pieces)


def _training_pieces(block: Block, fold: int) -> list[Block]:
    """What is before and behind the run of rows that a fold leaves out; few rows as one copy.

    Where they are no run, or the whole block, they stay and count nothing.
    """
    trains = block.folds[:, fold] == TRAINS
    if block.n_rows <= COPIED_ROWS and trains.any():
        return [block.some(np.flatnonzero(trains))]
    left_out = run_of(~trains)
    if not isinstance(left_out, slice) or left_out == slice(0, block.n_rows):
        return [_training(block, fold)]
    runs = slice(0, left_out.start), slice(left_out.stop, block.n_rows)
    return [block.cut(run) for run in runs if run.stop > run.start]


def _training(block: Block, fold: int) -> Block:
    """The block in which only rows that train in a fold have weight."""
    trains = (block.folds[:, fold] == TRAINS).astype(float)
    return block.with_columns(weight=trains if block.weight is None else trains * block.weight)


def _first_left_out(block: Block) -> np.ndarray:
    return np.argmax(block.folds != TRAINS, axis=1)


def _training_weights(block: Block) -> np.ndarray:
    """Weight of the rows that train in each fold, and of all."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    return np.append(weight @ (block.folds == TRAINS), weight.sum())


def with_scores(block: Block, thetas: np.ndarray) -> Block:
    """Logits of each row by the fits that have not seen it, one column per ``C``."""
    X, out = block.X, np.zeros((block.n_rows, thetas.shape[2]))
    for fold, theta in enumerate(thetas):
        rows = run_of(block.folds[:, fold] == HELD_OUT)
        out[rows] += X[rows] @ theta[:-1] + theta[-1]
    out /= (block.folds == HELD_OUT).sum(axis=1)[:, None]
    return block.with_columns(score=out)


def with_score(block: Block, thetas: np.ndarray) -> Block:
    """The same of one ``C``, as a column."""
    return block.with_columns(score=with_scores(block, thetas[:, :, None]).score[:, 0])


def _log_likelihood(block: Block, thetas: np.ndarray) -> float:
    """Of the labels, by held-out scores."""
    f, not_f = sigmoids(with_score(block, thetas).score)
    seen = evidence_of_labels(block.e, block.not_e, block.labelled, 1.0, block.audited)
    return likelihood.log_likelihood(likelihood.terms(f, not_f, seen).chance, block.weight)
