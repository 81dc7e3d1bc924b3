"""SAR-EM's pass over a block of rows compiled with numba: ``kernels.em_sums`` in loops over rows.

What it gains is in ``benchmarks/README.md``, beside the same fits in NumPy alone. What makes the
difference: the exponential is written as a polynomial, which the compiler works out for
four rows at once where the C library takes one; rows go in chunks that stay in the first-level
cache; and four rows share one load of a column's sum.

The two functions at the end are called, with rows of float64 or float32; each is compiled when it
is first called, once per installation. One file, long as it is: numba's cache sees that a
function's own file has changed, not that of one it calls.
"""

import math
from typing import Any

import numba as nb
import numpy as np

CHUNK = 256  # rows whose intermediate values stay in the first-level cache
FEW_ROWS = 512  # rows of X that stay in the second-level cache
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
# Where an index might be negative, numba looks each time: unsigned ones made the logits and
# gradients of sparse rows three times faster.
U = np.uint32


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
def _e_step(first, eta, e, not_e, seen, written, surplus, left, decay, observed):
    """Of the rows from ``first`` on that ``eta``, ``e``, ``surplus`` and ``left`` are of."""
    codes, labelled, weight, held = seen
    target, curvature, positives = written
    x, E, power, f = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    is_labelled, likelihood = np.empty(CHUNK), np.empty(CHUNK)
    q, excess = np.empty(CHUNK), np.empty(CHUNK)
    bits = power.view(np.int64)
    log_likelihood = expected = 0.0
    for start in range(0, len(eta), CHUNK):
        n = min(CHUNK, len(eta) - start)
        row = first + start
        eta_, e_, not_e_ = eta[start:], e[start:], not_e[start:]
        surplus_, left_ = surplus[start:], left[start:]
        labelled_, held_, target_ = labelled[row:], held[row:], target[row:]
        curvature_, weight_, codes_ = curvature[row:], weight[row:], codes[row:]
        for i in range(n):
            x[i] = min(max(-eta_[i], -LIMIT), LIMIT)
        _exp(x, power, bits, E, n)
        # Written to arrays of this function's own first, which cannot overlap with the others: the
        # compiler then takes four rows at once.
        for i in range(n):
            is_labelled[i] = 1.0 if labelled_[i] else 0.0
        for i in range(n):
            f[i] = 1.0 / (1.0 + E[i])
        for i in range(n):
            not_de = not_e_[i] + (1.0 - decay) * e_[i]
            share = 1.0 / (not_de + E[i])
            known = is_labelled[i] > 0.5
            q[i] = 1.0 if known else not_de * share
            excess[i] = f[i] * E[i] * (-1.0 if known else decay * e_[i] * share)
        for i in range(n):
            likelihood[i] = f[i] * (e_[i] if is_labelled[i] > 0.5 else E[i] + not_e_[i])
        for i in range(n):
            target_[i], surplus_[i] = q[i], excess[i]
        if len(curvature) and observed:
            for i in range(n):
                not_f = f[i] * E[i]
                curvature_[i] = f[i] * not_f if is_labelled[i] > 0.5 else excess[i] * (not_f - q[i])
        elif len(curvature):
            for i in range(n):
                curvature_[i] = f[i] * (f[i] * E[i])
        if len(weight):
            for i in range(n):
                log_likelihood += weight_[i] * np.log(likelihood[i])
            for values in (f, target_, surplus_):
                _scale(values, weight_, n)
            if len(curvature):
                _scale(curvature_, weight_, n)
        else:
            log_likelihood += _sum_of_logs(likelihood, n)
        for i in range(n):
            left_[i] = f[i] - held_[i]
        expected += _sum(f, n)
        if len(codes):
            for i in range(n):
                positives[codes_[i]] += target_[i]
        elif len(positives):
            positives[0] += _sum(target_, n)
    return log_likelihood, expected


@nb.njit(**STRICT)
def _scale(values, weight, n):
    for i in range(n):
        values[i] *= weight[i]


@nb.njit(**STRICT)
def _sigmoids(zeta, e, not_e):
    x, E, power = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    bits = power.view(np.int64)
    for start in range(0, len(zeta), CHUNK):
        n = min(CHUNK, len(zeta) - start)
        zeta_, e_, not_e_ = zeta[start:], e[start:], not_e[start:]
        for i in range(n):
            x[i] = min(max(-zeta_[i], -LIMIT), LIMIT)
        _exp(x, power, bits, E, n)
        for i in range(n):
            e_[i] = 1.0 / (1.0 + E[i])
            not_e_[i] = E[i] * e_[i]


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


@nb.njit(**STRICT)
def _csr_logits(X, theta, eta):
    data, indices, indptr = X
    for i in range(len(eta)):
        total = theta[-1]
        for k in range(U(indptr[i]), U(indptr[i + 1])):
            total += data[k] * theta[U(indices[k])]
        eta[i] = total


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


@nb.njit(**STRICT)
def _csr_gradients(X, u, v, out):
    """Adds them to the two columns of ``out``: both sums of a column lie in one cache line."""
    data, indices, indptr = X
    for i in range(len(u)):
        of_u, of_v = u[i], v[i]
        for k in range(U(indptr[i]), U(indptr[i + 1])):
            j, value = U(indices[k]), data[k]
            out[j, 0] += value * of_u
            out[j, 1] += value * of_v
    out[-1, 0] += _sum(u, len(u))
    out[-1, 1] += _sum(v, len(v))


@nb.njit(**STRICT)
def _terms(rows, eta, propensity, seen, written, e_written, surplus, left, decay, observed):
    """What is not a product with X: the E-step of a few rows, and the propensity's side of it.

    The propensity is given, of each row, of each of the codes or of all, or that of attributes
    ``Xe`` at ``theta_e``, if these are not empty.
    """
    e, not_e, Xe, theta_e = propensity
    codes, labelled, _, held = seen
    e_curvature, e_out = e_written
    own_e, own_not_e = np.empty(len(eta)), np.empty(len(eta))
    if len(Xe):
        zeta = np.empty(len(eta))
        _logits(Xe[rows], theta_e, zeta)
        _sigmoids(zeta, own_e, own_not_e)
    elif len(codes):
        for i in range(len(eta)):
            code = codes[rows.start + i]
            own_e[i], own_not_e[i] = e[code], not_e[code]
    elif len(e) == 1:
        own_e[:], own_not_e[:] = e[0], not_e[0]
    else:
        own_e[:], own_not_e[:] = e[rows], not_e[rows]
    found = _e_step(
        rows.start, eta, own_e, own_not_e, seen, written, surplus, left, decay, observed
    )
    if len(Xe):
        target, u, v = written[0], np.empty(len(eta)), np.empty(len(eta))
        for i in range(len(eta)):
            row = rows.start + i
            missed = -own_not_e[i] if labelled[row] else own_e[i]
            u[i] = target[row] * missed
            v[i] = held[row] * missed
        if len(e_curvature):
            for i in range(len(eta)):
                row = rows.start + i
                e_curvature[row] = target[row] * own_e[i] * own_not_e[i]
        _gradients(Xe[rows], u, v, e_out)
    return found


@nb.njit(cache=True, **STRICT)
def em_sums(X, theta, propensity, seen, written, e_written, out, decay, observed):
    """Logits, E-step and gradients of a few rows at a time: X comes from memory once.

    ``propensity`` is ``e, not_e, Xe, theta_e``; ``seen`` of each row ``codes, labelled, weight,
    held``. Written are ``target, curvature, positives``, the propensity's ``curvature`` and
    gradients, and the gradients ``out``. Arrays that are not there are empty.
    """
    eta, surplus, left = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    log_likelihood = expected = 0.0
    for start in range(0, len(seen[1]), FEW_ROWS):
        rows = slice(start, min(start + FEW_ROWS, len(seen[1])))
        here = slice(0, rows.stop - start)
        _logits(X[rows], theta, eta[here])
        found = _terms(
            rows, eta[here], propensity, seen, written, e_written, surplus[here], left[here],
            decay, observed
        )  # fmt: skip
        log_likelihood += found[0]
        expected += found[1]
        _gradients(X[rows], surplus[here], left[here], out)
    return log_likelihood, expected


@nb.njit(cache=True, **STRICT)
def csr_em_sums(X, theta, propensity, seen, written, e_written, out, decay, observed):
    """The same of sparse rows ``data, indices, indptr``, with the transpose of ``out``."""
    data, indices, indptr = X
    eta, surplus, left = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    log_likelihood = expected = 0.0
    for start in range(0, len(seen[1]), FEW_ROWS):
        rows = slice(start, min(start + FEW_ROWS, len(seen[1])))
        here, few = slice(0, rows.stop - start), (data, indices, indptr[start : rows.stop + 1])
        _csr_logits(few, theta, eta[here])
        found = _terms(
            rows, eta[here], propensity, seen, written, e_written, surplus[here], left[here],
            decay, observed
        )  # fmt: skip
        log_likelihood += found[0]
        expected += found[1]
        _csr_gradients(few, surplus[here], left[here], out)
    return log_likelihood, expected
