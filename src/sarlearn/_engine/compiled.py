"""Functions of ``kernels.py`` compiled with numba: the same arithmetic, in loops over rows.

What they gain is in ``benchmarks/README.md``, beside the same fits in NumPy alone. What makes the
difference: the exponential is written as a polynomial, which the compiler works out for
four rows at once where the C library takes one; rows go in chunks that stay in the first-level
cache; and four rows share one load of a column's sum.

A function is compiled when it is first wanted (``on_demand``), for rows of float64 or float32. One
file, long as it is: numba's cache sees that a function's own file has changed, not that of one it
calls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numba import types

CHUNK = 256  # rows whose intermediate values stay in the first-level cache
HESSIAN_ROWS = 32  # rows of X that stay in the first-level cache, at 54 columns twice
FEW_ROWS = 512  # rows of X that stay in the second-level cache
LIMIT = 350.0  # the clip of likelihood.py
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is log(2)
ROUNDER = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the low bits

# No checks for division by zero, which would stop vectorisation. Only plain sums may be reordered:
# the reduction in _exp relies on the order of its operations.
STRICT: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
FREE = STRICT | {"fastmath": {"contract", "nsz", "reassoc", "arcp"}}


def _array(dtype, n_dimensions=1, *, writable=False):
    return types.Array(dtype, n_dimensions, "C", readonly=not writable)


IN, OUT = _array(types.float64), _array(types.float64, writable=True)
OUT_2D = _array(types.float64, 2, writable=True)
FLAGS, CODES = _array(types.boolean), _array(types.intp)
DENSE = [_array(value, 2) for value in (types.float64, types.float32)]
INDEX = _array(types.int32)
# Where an index might be negative, numba looks each time: unsigned ones made the logits and
# gradients of sparse rows three times faster, their Hessian twice.
U = np.uint32
CSR = [(_array(value), INDEX, INDEX) for value in (types.float64, types.float32)]


class Kernel(NamedTuple):
    """A function, its signature for rows of each type, and the kernels that it calls."""

    function: Any
    signatures: dict[str, Any]
    needs: tuple[str, ...]


KERNELS: dict[str, Kernel] = {}


def kernel(float64, float32=None, *, needs: tuple[str, ...] = (), **options) -> Callable:
    """A function to be compiled with a signature for rows of each type, when it is wanted."""

    def decorate(python_function):
        try:
            function = nb.njit(cache=True, **options)(python_function)
        except RuntimeError:  # there is no folder that the cache could be written to
            function = nb.njit(**options)(python_function)
        signatures = {"float64": float64, "float32": float32 or float64}
        KERNELS[python_function.__name__] = Kernel(function, signatures, needs)
        return function

    return decorate


def ready(name: str, float_type: str):
    """A function that can be called with rows of this type: loaded, or compiled now.

    Between compilations it takes its signatures alone, and casts to them.
    """
    function, signatures, needs = KERNELS[name]
    if signatures[float_type].args not in function.overloads:
        if not in_cache(name, float_type):  # what was compiled holds what it calls
            for other in needs:
                ready(other, float_type)
        function.disable_compile(False)
        try:
            function.compile(signatures[float_type])
        finally:
            function.disable_compile()
    return function


def in_cache(name: str, float_type: str) -> bool:
    """Whether a function is compiled already, now or in numba's cache."""
    function, signatures, _ = KERNELS[name]
    signature = signatures[float_type]
    if signature.args in function.overloads:
        return True
    return function._cache.load_overload(signature, function.targetctx) is not None


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


@kernel(
    types.UniTuple(types.float64, 2)(
        IN, types.intp, IN, IN, CODES, FLAGS, IN, types.float64, types.boolean, IN, OUT, OUT, OUT,
        OUT, OUT
    ),
    **STRICT,
)  # fmt: skip
def e_step(
    eta, first, e, not_e, codes, labelled, weight, decay, observed, target, new_target, curvature,
    surplus, left, positives
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
        labelled_, target_, new_target_ = labelled[row:], target[row:], new_target[row:]
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
            new_target_[i] = q[i]
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
                new_target_[i] *= weight_[i]
                surplus_[i] *= weight_[i]
            if len(curvature):
                for i in range(n):
                    curvature_[i] *= weight_[i]
        else:
            log_likelihood += _sum_of_logs(likelihood, n)
        for i in range(n):
            left_[i] = f[i] - target_[i]
        expected += _sum(f, n)
        if len(codes):
            for i in range(n):
                positives[codes_[i]] += new_target_[i]
        elif len(positives):
            positives[0] += _sum(new_target_, n)
    return log_likelihood, expected


@kernel(types.void(IN, OUT, OUT), **STRICT)
def sigmoids(zeta, e, not_e):
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


@kernel(types.float64(IN, IN, IN, OUT, OUT), **STRICT)
def logistic_terms(eta, target, weight, residual, curvature):
    x, small, power, factor = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    bits = power.view(np.int64)
    value = 0.0
    for start in range(0, len(eta), CHUNK):
        n = min(CHUNK, len(eta) - start)
        eta_, target_, weight_ = eta[start:], target[start:], weight[start:]
        residual_, curvature_ = residual[start:], curvature[start:]
        for i in range(n):
            x[i] = max(-abs(eta_[i]), -LIMIT)
        _exp(x, power, bits, small, n)
        for i in range(n):
            factor[i] = 1.0 + small[i]
            minor = small[i] / factor[i]
            residual_[i] = (1.0 - target_[i]) - minor if eta_[i] >= 0 else minor - target_[i]
            x[i] = max(eta_[i], 0.0) - target_[i] * eta_[i]
        if len(curvature):
            for i in range(n):
                curvature_[i] = small[i] / (factor[i] * factor[i])
        if len(weight):
            for i in range(n):
                value += weight_[i] * (x[i] + np.log1p(small[i]))
                residual_[i] *= weight_[i]
            if len(curvature):
                for i in range(n):
                    curvature_[i] *= weight_[i]
        else:
            value += _sum(x, n) + _sum_of_logs(factor, n)
    return value


@kernel(*[types.void(X, IN, OUT) for X in DENSE], **FREE)
def logits(X, theta, eta):
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


@kernel(*[types.void(*X, IN, OUT) for X in CSR], **STRICT)
def csr_logits(data, indices, indptr, theta, eta):
    for i in range(len(eta)):
        total = theta[-1]
        for k in range(U(indptr[i]), U(indptr[i + 1])):
            total += data[k] * theta[U(indices[k])]
        eta[i] = total


@kernel(*[types.void(X, IN, IN, OUT_2D) for X in DENSE], **FREE)
def gradients(X, u, v, out):
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


@kernel(*[types.void(*X, IN, IN, OUT_2D) for X in CSR], **STRICT)
def csr_gradient_pairs(data, indices, indptr, u, v, out):
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
def _add(pairs, out):
    for j in range(len(pairs)):
        out[0, j] += pairs[j, 0]
        out[1, j] += pairs[j, 1]


@kernel(*[types.void(*X, IN, IN, OUT_2D) for X in CSR], needs=("csr_gradient_pairs",), **STRICT)
def csr_gradients(data, indices, indptr, u, v, out):
    """Adds ``[X 1]' u`` and ``[X 1]' v`` to the two rows of ``out``."""
    pairs = np.zeros((out.shape[1], 2))
    csr_gradient_pairs(data, indices, indptr, u, v, pairs)
    _add(pairs, out)


@kernel(*[types.void(X, IN, OUT_2D) for X in DENSE], **FREE)
def hessian(X, h, out):
    """``[X 1]' diag(h) [X 1]``: products of columns, of a few rows that stay in the first cache."""
    n_rows, p = X.shape
    width = (p // 4 + 1) * 4
    columns, scaled = np.zeros((width, HESSIAN_ROWS)), np.zeros((width, HESSIAN_ROWS))
    total = np.zeros((width, width))
    for i in range(HESSIAN_ROWS):
        columns[p, i] = 1.0
    for start in range(0, n_rows, HESSIAN_ROWS):
        n = min(HESSIAN_ROWS, n_rows - start)
        for i in range(n, HESSIAN_ROWS):
            for j in range(p + 1):
                scaled[j, i] = 0.0
        for i in range(n):
            curvature = h[start + i]
            for j in range(p):
                columns[j, i] = X[start + i, j]
                scaled[j, i] = curvature * X[start + i, j]
            scaled[p, i] = curvature
        # Blocks of four columns by two, of one triangle: a load serves several products.
        for j in range(0, width, 4):
            s0, s1, s2, s3 = scaled[j], scaled[j + 1], scaled[j + 2], scaled[j + 3]
            for k in range(0, j + 4, 2):
                x, y = columns[k], columns[k + 1]
                x0 = x1 = x2 = x3 = y0 = y1 = y2 = y3 = 0.0
                for i in range(HESSIAN_ROWS):
                    x0 += s0[i] * x[i]
                    x1 += s1[i] * x[i]
                    x2 += s2[i] * x[i]
                    x3 += s3[i] * x[i]
                    y0 += s0[i] * y[i]
                    y1 += s1[i] * y[i]
                    y2 += s2[i] * y[i]
                    y3 += s3[i] * y[i]
                total[j, k] += x0
                total[j + 1, k] += x1
                total[j + 2, k] += x2
                total[j + 3, k] += x3
                total[j, k + 1] += y0
                total[j + 1, k + 1] += y1
                total[j + 2, k + 1] += y2
                total[j + 3, k + 1] += y3
    for j in range(p + 1):
        for k in range(j + 1):
            out[j, k] = out[k, j] = total[j, k]


@kernel(*[types.void(*X, IN, OUT_2D) for X in CSR], **STRICT)
def csr_hessian(data, indices, indptr, h, out):
    # The half of every pair of a row's elements, on either side of the diagonal; then both halves.
    p = out.shape[0] - 1
    out[:] = 0.0
    last = out[p]
    for i in range(len(h)):
        first, behind = U(indptr[i]), U(indptr[i + 1])
        for k in range(first, behind):
            j, c = U(indices[k]), h[i] * data[k]
            row = out[j]
            for m in range(first, k):
                row[U(indices[m])] += c * data[m]
            row[j] += 0.5 * c * data[k]
            last[j] += c
    last[p] = 0.5 * _sum(h, len(h))
    for a in range(p + 1):
        for b in range(a + 1):
            out[a, b] += out[b, a]
            out[b, a] = out[a, b]


@kernel(*[types.void(*X, IN, IN, OUT) for X in CSR], **STRICT)
def csr_hessian_product(data, indices, indptr, h, v, out):
    """``[X 1]' diag(h) [X 1] v``, each row read once."""
    out[:] = 0.0
    last = v[-1]
    for i in range(len(h)):
        first, behind = U(indptr[i]), U(indptr[i + 1])
        total = last
        for k in range(first, behind):
            total += data[k] * v[U(indices[k])]
        total *= h[i]
        for k in range(first, behind):
            out[U(indices[k])] += data[k] * total
        out[-1] += total


@nb.njit(**STRICT)
def _propensity_of(rows, e, not_e, codes, Xe, theta_e, zeta, own_e, own_not_e):
    """What the E-step wants to know of some rows: their own, or that of all or of groups."""
    if len(Xe):
        logits(Xe[rows], theta_e, zeta)
        sigmoids(zeta, own_e, own_not_e)
        return own_e, own_not_e
    if len(codes) or len(e) == 1:
        return e, not_e
    return e[rows], not_e[rows]


@kernel(
    *[types.void(X, IN, FLAGS, IN, IN, IN, OUT, OUT_2D) for X in DENSE],
    needs=("gradients",),
    **STRICT,
)
def propensity_sums(Xe, e, labelled, new_target, target, not_e, curvature, out):
    """Adds the gradients for the residuals ``q (e - s)`` of both kinds of targets."""
    u, v = np.empty(len(e)), np.empty(len(e))
    for i in range(len(e)):
        surplus = -not_e[i] if labelled[i] else e[i]
        u[i] = new_target[i] * surplus
        v[i] = target[i] * surplus
    if len(curvature):
        for i in range(len(e)):
            curvature[i] = new_target[i] * e[i] * not_e[i]
    gradients(Xe, u, v, out)


PASS = (
    IN, IN, IN, CODES, FLAGS, IN, types.float64, types.boolean, IN, OUT, OUT, OUT, OUT_2D
)  # fmt: skip
COLUMNS = (IN, OUT, OUT_2D)


@kernel(
    *[types.UniTuple(types.float64, 2)(X, *PASS, X, *COLUMNS) for X in DENSE],
    needs=("logits", "sigmoids", "e_step", "gradients", "propensity_sums"),
    **STRICT,
)
def em_sums(
    X, theta, e, not_e, codes, labelled, weight, decay, observed, target, new_target, curvature,
    positives, out,
    Xe, theta_e, e_curvature, e_out
):  # fmt: skip
    """Logits, E-step and gradients of a few rows at a time: X comes from memory once.

    The propensity is given, or that of attributes ``Xe`` at ``theta_e``, if these are not empty.
    """
    eta, surplus, left = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    zeta, own_e, own_not_e = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    log_likelihood = expected = 0.0
    for start in range(0, len(X), FEW_ROWS):
        rows = slice(start, min(start + FEW_ROWS, len(X)))
        here = slice(0, rows.stop - start)
        logits(X[rows], theta, eta[here])
        e_here, not_e_here = _propensity_of(
            rows, e, not_e, codes, Xe, theta_e, zeta[here], own_e[here], own_not_e[here]
        )
        part = e_step(
            eta[here], start, e_here, not_e_here, codes, labelled, weight, decay, observed, target,
            new_target, curvature, surplus[here], left[here], positives
        )  # fmt: skip
        log_likelihood += part[0]
        expected += part[1]
        gradients(X[rows], surplus[here], left[here], out)
        if len(Xe):
            curvature_here = e_curvature[rows] if len(e_curvature) else e_curvature
            propensity_sums(
                Xe[rows], e_here, labelled[rows], new_target[rows], target[rows], not_e_here,
                curvature_here,
                e_out
            )  # fmt: skip
    return log_likelihood, expected


@kernel(
    *[
        types.UniTuple(types.float64, 2)(*X, *PASS, Xe, *COLUMNS)
        for X, Xe in zip(CSR, DENSE, strict=True)
    ],
    needs=("csr_logits", "logits", "sigmoids", "e_step", "csr_gradient_pairs", "propensity_sums"),
    **STRICT,
)
def csr_em_sums(
    data, indices, indptr, theta, e, not_e, codes, labelled, weight, decay, observed, target,
    new_target,
    curvature, positives, out, Xe, theta_e, e_curvature, e_out
):  # fmt: skip
    pairs = np.zeros((out.shape[1], 2))
    eta, surplus, left = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    zeta, own_e, own_not_e = np.empty(FEW_ROWS), np.empty(FEW_ROWS), np.empty(FEW_ROWS)
    log_likelihood = expected = 0.0
    for start in range(0, len(labelled), FEW_ROWS):
        rows = slice(start, min(start + FEW_ROWS, len(labelled)))
        here, ends = slice(0, rows.stop - start), indptr[start : rows.stop + 1]
        csr_logits(data, indices, ends, theta, eta[here])
        e_here, not_e_here = _propensity_of(
            rows, e, not_e, codes, Xe, theta_e, zeta[here], own_e[here], own_not_e[here]
        )
        part = e_step(
            eta[here], start, e_here, not_e_here, codes, labelled, weight, decay, observed, target,
            new_target, curvature, surplus[here], left[here], positives
        )  # fmt: skip
        log_likelihood += part[0]
        expected += part[1]
        csr_gradient_pairs(data, indices, ends, surplus[here], left[here], pairs)
        if len(Xe):
            curvature_here = e_curvature[rows] if len(e_curvature) else e_curvature
            propensity_sums(
                Xe[rows], e_here, labelled[rows], new_target[rows], target[rows], not_e_here,
                curvature_here,
                e_out
            )  # fmt: skip
    _add(pairs, out)
    return log_likelihood, expected
