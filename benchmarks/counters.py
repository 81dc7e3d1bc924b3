"""What a fit of sarlearn did: passes, how much of X it read, Hessians and their flops.

The counters hang on the few places through which every row goes: the sum over blocks and the Gram
product of one block. They cost some time where blocks are small; the best of several runs is then
one of those that are not counted.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

import sarlearn._engine.em
import sarlearn._engine.kernels
import sarlearn._engine.logistic
import sarlearn._engine.propensity
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.em import SAREM


@dataclass
class Counts:
    """``elements`` and ``gram_rows`` count entries read and rows of the wide Gram products."""

    em_passes: int = 0
    elements: float = 0.0
    gram_rows: int = 0
    gram_flops: float = 0.0


@contextlib.contextmanager
def counting(n_columns: int) -> Iterator[Counts]:
    """Count what fits do while the context lasts; ``n_columns`` tells X from narrower matrices."""
    counts = Counts()
    the_total, the_matvec, the_arrival = RowBlocks.total, RowBlocks.matvec, SAREM._arrive
    the_hessian = sarlearn._engine.kernels.hessian
    users = (sarlearn._engine.em, sarlearn._engine.logistic, sarlearn._engine.propensity)

    def counted_total(blocks, function, *arguments):
        counts.elements += float(blocks.nnz)
        return the_total(blocks, function, *arguments)

    def counted_matvec(blocks, vector):
        counts.elements += float(blocks.nnz)
        return the_matvec(blocks, vector)

    def counted_arrival(em, here, sums):
        counts.em_passes += 1
        return the_arrival(em, here, sums)

    def counted_hessian(X, h):
        if X.shape[1] == n_columns:
            counts.gram_rows += X.shape[0]
        counts.gram_flops += gram_flops(X)
        return the_hessian(X, h)

    RowBlocks.total, RowBlocks.matvec = counted_total, counted_matvec
    SAREM._arrive = counted_arrival
    for module in users:
        module.hessian = counted_hessian
    try:
        yield counts
    finally:
        RowBlocks.total, RowBlocks.matvec = the_total, the_matvec
        SAREM._arrive = the_arrival
        for module in users:
            module.hessian = the_hessian


def gram_flops(X) -> float:
    """Multiplications and additions of one triangle of ``X' X``."""
    if sparse.issparse(X):
        in_row = np.diff(X.indptr).astype(float)
        return float(in_row @ (in_row + 1))
    n, p = X.shape
    return float(n) * p * (p + 1)
