"""SAR-EM's pass over a block of rows compiled with numba: ``kernels.em_sums`` in loops over rows.

What it gains is in ``benchmarks/README.md``, beside the same fits in NumPy alone. What makes the
difference: the exponential is written as a polynomial, which the compiler works out for
four rows at once where the C library takes one; rows go in chunks that stay in the first-level
cache; and four rows share one load of a column's sum.

The two functions at the end are called, with rows of float64 or float32; each is compiled when it
is first called, once per installation. One file, long as it is: numba's cache sees that a
function's own file has changed, not that of one it calls.
"""

from typing import Any

import numba as nb
import numpy as np

CHUNK = 256  # rows whose intermediate values stay in the first-level cache
FEW_ROWS = 512  # rows of X that stay in the second-level cache
LIMIT = 350.0  # the clip of likelihood.py
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is log(2)
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
        p = 1 / 479001600
        p = p * r + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 1 / 2
        p = p * r + 1.0
        out[i] = p * r + 1.0
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
def _e_step(
    first, eta, e, not_e, codes, labelled, weight, held, target, curvature, positives, surplus,
    left, decay, observed
):  # fmt: skip
    """Of the rows from ``first`` on that ``eta``, ``surplus`` and ``left`` are of.

    So is ``e``, unless it has one value for all rows or one for each of the codes.
    """
    x, E, power, f = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    e_, not_e_, is_labelled = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    likelihood, q, excess = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    bits = power.view(np.int64)
    log_likelihood = expected = 0.0
    for start in range(0, len(eta), CHUNK):
        n = min(CHUNK, len(eta) - start)
        row = first + start
        eta_, surplus_, left_ = eta[start:], surplus[start:], left[start:]
        labelled_, held_, target_ = labelled[row:], held[row:], target[row:]
        curvature_, weight_, codes_ = curvature[row:], weight[row:], codes[row:]
        for i in range(n):
            x[i] = min(max(-eta_[i], -LIMIT), LIMIT)
        _exp(x, power, bits, E, n)
        if len(codes):
            for i in range(n):
                e_[i], not_e_[i] = e[codes_[i]], not_e[codes_[i]]
        elif len(e) == 1:
            for i in range(n):
                e_[i], not_e_[i] = e[0], not_e[0]
        else:
            for i in range(n):
                e_[i], not_e_[i] = e[start + i], not_e[start + i]
        for i in range(n):
            is_labelled[i] = 1.0 if labelled_[i] else 0.0
        for i in range(n):
            f[i] = 1.0 / (1.0 + E[i])
        # Written to arrays of this function's own first, which cannot overlap with the others: the
        # compiler then takes four rows at once.
        for i in range(n):
            not_de = not_e_[i] + (1.0 - decay) * e_[i]
            share = 1.0 / (not_de + E[i])
            known = is_labelled[i] > 0.5
            q[i] = 1.0 if known else not_de * share
            excess[i] = f[i] * E[i] * (-1.0 if known else decay * e_[i] * share)
        for i in range(n):
            likelihood[i] = f[i] * (e_[i] if is_labelled[i] > 0.5 else E[i] + not_e_[i])
        for i in range(n):
            target_[i] = q[i]
        for i in range(n):
            surplus_[i] = excess[i]
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
            for i in range(n):
                f[i] *= weight_[i]
                target_[i] *= weight_[i]
                surplus_[i] *= weight_[i]
            if len(curvature):
                for i in range(n):
                    curvature_[i] *= weight_[i]
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
def _csr_logits(data, indices, indptr, theta, eta):
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
def _csr_gradient_pairs(data, indices, indptr, u, v, out):
    """Adds ``[X 1]' u`` and ``[X 1]' v`` to the columns of ``out``: both sums in one cache line."""
    for i in range(len(u)):
        of_u, of_v = u[i], v[i]
        for k in range(U(indptr[i]), U(indptr[i + 1])):
            j, value = U(indices[k]), data[k]
            out[j, 0] += value * of_u
            out[j, 1] += value * of_v
    out[-1, 0] += _sum(u, len(u))
    out[-1, 1] += _sum(v, len(v))


@nb.njit(**STRICT)
def _terms(
    rows, eta, e, not_e, codes, labelled, weight, held, Xe, theta_e,
    target, curvature, e_curvature, positives, e_out, surplus, left, decay, observed
):  # fmt: skip
    """What is not a product with X: the E-step of a few rows, and the propensity's side of it.

    The propensity is given, or that of attributes ``Xe`` at ``theta_e``, if these are not empty.
    """
    if len(Xe):
        zeta, e, not_e = np.empty(len(eta)), np.empty(len(eta)), np.empty(len(eta))
        _logits(Xe[rows], theta_e, zeta)
        _sigmoids(zeta, e, not_e)
    elif not len(codes) and len(e) > 1:
        e, not_e = e[rows], not_e[rows]
    found = _e_step(
        rows.start, eta, e, not_e, codes, labelled, weight, held, target, curvature, positives,
        surplus, left, decay, observed
    )  # fmt: skip
    if len(Xe):
        u, v = np.empty(len(e)), np.empty(len(e))
        for i in range(len(e)):
            row = rows.start + i
            missed = -not_e[i] if labelled[row] else e[i]
            u[i] = target[row] * missed
            v[i] = held[row] * missed
        if len(e_curvature):
            for i in range(len(e)):
                e_curvature[rows.start + i] = target[rows.start + i] * e[i] * not_e[i]
        _gradients(Xe[rows], u, v, e_out)
    return found


@nb.njit(cache=True, **STRICT)
def em_sums(
    X, theta, e, not_e, codes, labelled, weight, held, Xe, theta_e,
    target, curvature, e_curvature, positives, out, e_out, decay, observed
):  # fmt: skip
    """Logits, E-step and gradients of a few rows at a time: X comes from memory once."""
    eta, surplus, left = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    log_likelihood = expected = 0.0
    for start in range(0, len(labelled), FEW_ROWS):
        rows = slice(start, min(start + FEW_ROWS, len(labelled)))
        here = slice(0, rows.stop - start)
        _logits(X[rows], theta, eta[here])
        found = _terms(
            rows, eta[here], e, not_e, codes, labelled, weight, held, Xe, theta_e,
            target, curvature, e_curvature, positives, e_out, surplus[here], left[here], decay,
            observed
        )  # fmt: skip
        log_likelihood += found[0]
        expected += found[1]
        _gradients(X[rows], surplus[here], left[here], out)
    return log_likelihood, expected


@nb.njit(cache=True, **STRICT)
def csr_em_sums(
    data, indices, indptr, theta, e, not_e, codes, labelled, weight, held, Xe, theta_e,
    target, curvature, e_curvature, positives, out, e_out, decay, observed
):  # fmt: skip
    """The same of sparse rows. Both gradients of a column lie in one cache line."""
    pairs = np.zeros((out.shape[1], 2))
    eta, surplus, left = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    log_likelihood = expected = 0.0
    for start in range(0, len(labelled), FEW_ROWS):
        rows = slice(start, min(start + FEW_ROWS, len(labelled)))
        here, ends = slice(0, rows.stop - start), indptr[start : rows.stop + 1]
        _csr_logits(data, indices, ends, theta, eta[here])
        found = _terms(
            rows, eta[here], e, not_e, codes, labelled, weight, held, Xe, theta_e,
            target, curvature, e_curvature, positives, e_out, surplus[here], left[here], decay,
            observed
        )  # fmt: skip
        log_likelihood += found[0]
        expected += found[1]
        _csr_gradient_pairs(data, indices, ends, surplus[here], left[here], pairs)
    for j in range(len(pairs)):
        out[0, j] += pairs[j, 0]
        out[1, j] += pairs[j, 1]
    return log_likelihood, expected
