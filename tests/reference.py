"""SAR-EM written down a second time, plainly, with exact M-steps by SciPy's trust-region solver.

It shares no code with the package. Slow, for small problems.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def fit_logistic(X, target, weight, C, start=None):
    """Coefficients and intercept of logistic regression with fractional targets."""
    Z = np.column_stack([X, np.ones(len(X))])
    ridge = np.append(np.full(X.shape[1], 1 / C), 0.0)
    scale = weight.sum()

    def value(theta):
        eta = Z @ theta
        loss = weight @ (np.logaddexp(0, eta) - target * eta)
        return (loss + ridge @ theta**2 / 2) / scale

    def gradient(theta):
        return (Z.T @ (weight * (expit(Z @ theta) - target)) + ridge * theta) / scale

    def hessian(theta):
        eta = Z @ theta
        h = weight * expit(eta) * expit(-eta)
        return (Z.T @ (h[:, None] * Z) + np.diag(ridge)) / scale

    start = np.zeros(Z.shape[1]) if start is None else start
    options = {"gtol": 1e-12, "maxiter": 500}
    theta = minimize(
        value, start, jac=gradient, hess=hessian, method="trust-exact", options=options
    ).x
    # A few bare Newton steps squeeze out what the trust region's stop leaves.
    for _ in range(3):
        theta = theta - np.linalg.solve(hessian(theta), gradient(theta))
    return theta


def sar_em(
    X, s, columns, *, decay=0.9, C=1.0, propensity_C=1.0, weight=None, window=10, tol=1e-4,
    stop="slope", max_iter=20000, propensity=None, seen=None,
):  # fmt: skip
    """Run the paper's two algorithms; return f, e (or the known one) and the iterations.

    The slopes that the rule looks at are appended to the list ``seen``.
    """
    X = np.asarray(X, dtype=float)
    s = np.asarray(s, dtype=bool)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    Xe = X[:, columns]

    naive = fit_logistic(X, s.astype(float), w, C)
    s_hat = expit(X @ naive[:-1] + naive[-1])
    c = min(s_hat[~s].max(), 1 - 1e-6)
    y_hat = np.minimum((1 - c) / c * s_hat / (1 - s_hat), 1)
    theta = fit_logistic(X, np.where(s, 1.0, y_hat), w, C, naive)
    phi = np.append(np.zeros(Xe.shape[1]), np.log(c / (1 - c)))

    watched, f_before, n_iter = [], None, 0
    while n_iter <= max_iter:
        f = expit(X @ theta[:-1] + theta[-1])
        e = expit(Xe @ phi[:-1] + phi[-1]) if propensity is None else propensity
        watched.append((e if propensity is None else f)[~s])
        if stop == "slope" and len(watched) >= window:
            slopes = np.polyfit(np.arange(window), np.array(watched[-window:]), 1)[0]
            slope = np.average(np.abs(slopes), weights=w[~s])
            if seen is not None:
                seen.append(slope)
            if slope < tol:
                break
        if stop == "fixed_point" and f_before is not None and np.abs(f - f_before).max() < tol:
            break
        f_before = f
        shrunk = decay * e if propensity is None else e
        q = np.where(s, 1.0, f * (1 - shrunk) / (f * (1 - shrunk) + 1 - f))
        theta = fit_logistic(X, q, w, C, theta)
        if propensity is None:
            phi = fit_logistic(Xe, s.astype(float), w * q, propensity_C, phi)
        n_iter += 1
    return f, e, n_iter
