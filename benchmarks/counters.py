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

import sarlearn._logistic
from sarlearn._blocks import RowBlocks
from sarlearn._em import LogisticEM


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
    the_sum, the_matvec, the_pass = RowBlocks.sum, RowBlocks.matvec, LogisticEM.run_pass
    the_gram = sarlearn._logistic.gram

    def elements_of(blocks):
        if not blocks.is_sparse:
            return float(np.prod(blocks.shape))
        return float(sum(X.nnz for X in blocks._X))

    def counted_sum(blocks, stats):
        counts.elements += elements_of(blocks)
        return the_sum(blocks, stats)

    def counted_matvec(blocks, vector):
        counts.elements += elements_of(blocks)
        return the_matvec(blocks, vector)

    def counted_pass(em):
        counts.em_passes += 1
        return the_pass(em)

    def counted_gram(X, h):
        if X.shape[1] == n_columns:
            counts.gram_rows += X.shape[0]
        counts.gram_flops += gram_flops(X)
        return the_gram(X, h)

    RowBlocks.sum, RowBlocks.matvec = counted_sum, counted_matvec
    LogisticEM.run_pass, sarlearn._logistic.gram = counted_pass, counted_gram
    try:
        yield counts
    finally:
        RowBlocks.sum, RowBlocks.matvec = the_sum, the_matvec
        LogisticEM.run_pass, sarlearn._logistic.gram = the_pass, the_gram


def gram_flops(X) -> float:
    """Multiplications and additions of one triangle of ``X' X``."""
    if sparse.issparse(X):
        in_row = np.diff(X.indptr).astype(float)
        return float(in_row @ (in_row + 1))
    n, p = X.shape
    return float(n) * p * (p + 1)
