"""SAR-EM's pass over a block of rows compiled with numba: ``kernels.em_sums`` in loops over rows.

What it gains is in ``benchmarks/README.md``, beside the same fits in NumPy alone. What makes the
difference: the exponential is written as a polynomial, which the compiler works out for
four rows at once where the C library takes one; rows go in chunks that stay in the first-level
cache; and four rows share one load of a column's sum.

The function at the end is called, with rows of float64 or float32, and compiled when it is first
called, once per installation. One file: numba's cache sees that a function's own file has changed,
not that of one it calls. Sparse rows gain nothing and are left to SciPy.
"""

import math
from typing import Any

import numba as nb
import numpy as np

CHUNK = 256  # rows whose intermediate values stay in the first-level cache, and X in the second
LIMIT = 350.0  # the clip of likelihood.py
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is log(2)
# Of the Taylor polynomial of exp, the highest power first.
FACTORIALS = tuple(1 / math.factorial(k) for k in range(12, -1, -1))
ROUNDER = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the low bits

# No checks for division by zero, which would stop vectorisation. Only plain sums may be reordered:
# the reduction in _exp relies on the order of its operations.
STRICT: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
FREE = STRICT | {"fastmath": {"contract", "nsz", "reassoc", "arcp"}}


@nb.njit(inline="always", **STRICT)
def _exp(x, power, bits, out, n):
    """``exp(x)`` of n values of size up to LIMIT; ``bits`` is ``power`` seen as integers.

    ``exp(x) = 2^k exp(r)`` with ``|r| <= log(2) / 2``, and a Taylor polynomial for the latter:
    within 4e-16 of the C library's.
    """
    for i in range(n):
        power[i] = x[i] * LOG2_E + ROUNDER
    for i in range(n):
        k = power[i] - ROUNDER
        r = (x[i] - k * LN2_HIGH) - k * LN2_LOW
        p = FACTORIALS[0]
        for factor in FACTORIALS[1:]:
            p = p * r + factor
        out[i] = p
    for i in range(n):
        bits[i] = (bits[i] + 1023) << 52  # the double 2^k
    for i in range(n):
        out[i] *= power[i]


@nb.njit(**FREE)
def _sum(values, n):
    total = 0.0
    for i in range(n):
        total += values[i]
    return total


@nb.njit(**FREE)
def _sum_of_logs(values, n):
    """``sum(log(values))`` of values in (0, 1], or in [1, 2]; one logarithm for eight of them."""
    eighth = n // 8
    total = 0.0
    for i in range(eighth):
        product = values[i]
        for k in range(1, 8):
            product *= values[i + k * eighth]
        if product > 1e-280:
            total += np.log(product)
        else:  # it may have lost digits, or all of them
            for k in range(8):
                total += np.log(values[i + k * eighth])
    for i in range(8 * eighth, n):
        total += np.log(values[i])
    return total


@nb.njit(**STRICT)
def _e_step(eta, seen, held, written, surplus, left, decay, observed):
    """Of one chunk of rows: their log-likelihood, and how many positives are expected."""
    e, not_e, labelled, weight = seen
    target, curvature = written
    n = len(eta)
    x, E, power, f = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    is_labelled, likelihood = np.empty(n), np.empty(n)
    q, excess = np.empty(n), np.empty(n)
    for i in range(n):
        x[i] = min(max(-eta[i], -LIMIT), LIMIT)
    _exp(x, power, power.view(np.int64), E, n)
    # Written to arrays of this function's own first, which cannot overlap with the others: the
    # compiler then takes four rows at once.
    for i in range(n):
        is_labelled[i] = 1.0 if labelled[i] else 0.0
    for i in range(n):
        f[i] = 1.0 / (1.0 + E[i])
    for i in range(n):
        not_de = not_e[i] + (1.0 - decay) * e[i]
        share = 1.0 / (not_de + E[i])
        known = is_labelled[i] > 0.5
        q[i] = 1.0 if known else not_de * share
        excess[i] = f[i] * E[i] * (-1.0 if known else decay * e[i] * share)
    for i in range(n):
        likelihood[i] = f[i] * (e[i] if is_labelled[i] > 0.5 else E[i] + not_e[i])
    for i in range(n):
        target[i], surplus[i] = q[i], excess[i]
    if len(curvature) and observed:
        for i in range(n):
            not_f = f[i] * E[i]
            curvature[i] = f[i] * not_f if is_labelled[i] > 0.5 else excess[i] * (not_f - q[i])
    elif len(curvature):
        for i in range(n):
            curvature[i] = f[i] * (f[i] * E[i])
    log_likelihood = 0.0
    if len(weight):
        for i in range(n):
            log_likelihood += weight[i] * np.log(likelihood[i])
        for values in (f, target, surplus, curvature):
            for i in range(len(values)):
                values[i] *= weight[i]
    else:
        log_likelihood = _sum_of_logs(likelihood, n)
    for i in range(n):
        left[i] = f[i] - held[i]
    return log_likelihood, _sum(f, n)


@nb.njit(**FREE)
def _logits(X, theta, eta):
    """Of rows of a matrix with a last column of ones."""
    n_rows, p = X.shape
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        a0 = a1 = a2 = a3 = theta[p]
        for j in range(p):
            t = theta[j]
            a0 += X[i, j] * t
            a1 += X[i + 1, j] * t
            a2 += X[i + 2, j] * t
            a3 += X[i + 3, j] * t
        eta[i], eta[i + 1], eta[i + 2], eta[i + 3] = a0, a1, a2, a3
    for i in range(whole, n_rows):
        a0 = theta[p]
        for j in range(p):
            a0 += X[i, j] * theta[j]
        eta[i] = a0


@nb.njit(**FREE)
def _gradients(X, u, v, out):
    """Adds ``[X 1]' u`` and ``[X 1]' v`` to the two rows of ``out``."""
    n_rows, p = X.shape
    of_u, of_v = out[0], out[1]
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        u0, u1, u2, u3 = u[i], u[i + 1], u[i + 2], u[i + 3]
        v0, v1, v2, v3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        for j in range(p):
            x0, x1, x2, x3 = X[i, j], X[i + 1, j], X[i + 2, j], X[i + 3, j]
            of_u[j] += x0 * u0 + x1 * u1 + x2 * u2 + x3 * u3
            of_v[j] += x0 * v0 + x1 * v1 + x2 * v2 + x3 * v3
    for i in range(whole, n_rows):
        for j in range(p):
            of_u[j] += X[i, j] * u[i]
            of_v[j] += X[i, j] * v[i]
    of_u[p] += _sum(u, n_rows)
    of_v[p] += _sum(v, n_rows)


@nb.njit(cache=True, **STRICT)
def em_sums(X, theta, seen, held, written, out, decay, observed):
    """Logits, E-step and gradients of a chunk of rows at a time: X comes from memory once.

    ``seen`` of each row is ``e, not_e, labelled, weight``. Written are ``target, curvature`` and
    the gradients ``out``. Weights and curvatures that are not there are empty.
    """
    e, not_e, labelled, weight = seen
    target, curvature = written
    eta, surplus, left = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    log_likelihood = expected = 0.0
    for start in range(0, len(e), CHUNK):
        rows = slice(start, min(start + CHUNK, len(e)))
        n = rows.stop - start
        _logits(X[rows], theta, eta[:n])
        found = _e_step(
            eta[:n], (e[rows], not_e[rows], labelled[rows], weight[rows]), held[rows],
            (target[rows], curvature[rows]), surplus[:n], left[:n], decay, observed
        )  # fmt: skip
        log_likelihood += found[0]
        expected += found[1]
        _gradients(X[rows], surplus[:n], left[:n], out)
    return log_likelihood, expected
