"""A pass of the label model over rows: sums of a block, and its inputs standardised."""

from dataclasses import dataclass

import numpy as np

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block, add_up
from sarlearn._engine.kernels import (
    Propensities,
    Written,
    em_sums,
    logits,
    sigmoids,
    with_intercept,
)
from sarlearn._engine.newton import Sums
from sarlearn._engine.rows import Rows

# Rows that are worked on at a time: with few columns it is the values of rows, a dozen arrays of
# them, that must stay in the cache and below what the C library fetches from the system anew each
# time. In one piece, many rows take several times as long.
PIECE_ROWS = 8192


@dataclass
class LabelSums(Sums):
    """Of a pass: the loss with its derivatives by ``a, b, phi, phi_0``, and expected positives."""

    loss: float
    gradient: np.ndarray
    positives: float
    positives_gradient: np.ndarray
    information: np.ndarray | None = None


def label_pass(block: Block, theta: np.ndarray, known: bool, with_hessian: bool) -> LabelSums:
    """The sums of a block whose matrix has the attributes; ``known`` propensities are its own."""
    pieces = block.remember("pieces", None, lambda: block.pieces(PIECE_ROWS))
    return add_up(_label_sums(piece, theta, known, with_hessian) for piece in pieces)


def _label_sums(block: Block, theta: np.ndarray, known: bool, with_hessian: bool) -> LabelSums:
    """The same of few rows: a pass of EM over rows of one column, the score."""
    score, Z, n = block.score[:, None], block.X, block.n_rows
    theta = np.concatenate([np.exp(theta[:1]), theta[1:]])
    propensity = Propensities(block.e, block.not_e) if known else Propensities(X=Z, theta=theta[2:])
    target, spread = np.empty(n), np.empty(n)
    scores = Block(block.rows, score, block.labelled, block.audited, block.weight)
    log_likelihood, positives, _, by_f, _, by_e, _ = em_sums(
        scores, theta[:2], propensity, 1.0, None, Written(target, spread)
    )
    gradient = np.concatenate([by_f, np.zeros(len(theta) - 2) if known else by_e])
    sums = LabelSums(-log_likelihood, gradient, positives, with_intercept(score, spread))
    if with_hessian:
        e, not_e = (block.e, block.not_e) if known else sigmoids(logits(Z, theta[2:]))
        f, not_f = sigmoids(logits(score, theta[:2]))
        sums.information = _information(block, f, not_f, e, not_e, spread, target)
    return sums


def _information(block: Block, f, not_f, e, not_e, spread, target) -> np.ndarray:
    """Expected information: of one row it has rank one, its root times the design.

    ``spread`` and ``target`` are ``f (1 - f)`` and the target, times the weight.
    """
    of_f, _, of_e = likelihood.expected_information(f, not_f, e, not_e)
    looked_at = None if block.audited is None else ~np.isnan(block.audited)
    if looked_at is not None:
        of_f, of_e = np.where(looked_at, 0.0, of_f), np.where(looked_at, 0.0, of_e)
    if block.weight is not None:
        of_f, of_e = block.weight * of_f, block.weight * of_e
    scaled = _design(block, np.sqrt(of_f), np.sqrt(of_e))
    information = scaled.T @ scaled
    if looked_at is not None:
        # Where the class is known, the two models have nothing to do with each other.
        of_e = likelihood.propensity_curvature(target, e, not_e)
        scaled = _design(block, np.sqrt(spread * looked_at), np.sqrt(of_e * looked_at))
        for part in (slice(0, 2), slice(2, None)):
            information[part, part] += scaled[:, part].T @ scaled[:, part]
    return information


def _design(block: Block, of_f: np.ndarray, of_e: np.ndarray) -> np.ndarray:
    """The inputs ``g, 1`` of the class and ``x_e, 1`` of the propensity, each times a factor."""
    out = np.empty((block.n_rows, block.X.shape[1] + 3))
    np.multiply(block.score, of_f, out=out[:, 0])
    out[:, 1] = of_f
    np.multiply(block.X, of_e[:, None], out=out[:, 2:-1])
    out[:, -1] = of_e
    return out


def weighted_propensity(block: Block) -> float:
    return float(block.e.sum() if block.weight is None else block.weight @ block.e)


def standards(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Center and scale of the score and of the attributes."""
    total, sums = rows.total(_moments, None)
    center = sums / total[0]
    _, squares = rows.total(_moments, center)
    scale = np.sqrt(squares / total[0])
    return center, np.where(scale > 1e-13 * np.abs(center), scale, 1.0)


def _moments(block: Block, center: np.ndarray | None) -> np.ndarray:
    """Weight, and sums of the inputs or of their squared distances from a center."""
    inputs = np.column_stack([block.score, block.X])
    values = inputs if center is None else (inputs - center) ** 2
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    return np.array([np.full(inputs.shape[1], weight.sum()), weight @ values])


def standardised(block: Block, center: np.ndarray, scale: np.ndarray) -> Block:
    return block.with_columns(
        score=(block.score - center[0]) / scale[0], matrix=(block.X - center[1:]) / scale[1:]
    )
