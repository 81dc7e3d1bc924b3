"""The likelihood with every kind of evidence, written out plainly, and maximised by SciPy.

Nothing here is shared with the package. A row is positive with probability f; chance j labels a
positive row with probability e_j; an audit tells the class. With ``G(x) = P(seen, y=1)`` and
``H(x) = P(seen, y=0)``:

    P(seen) = [y may be 1] f prod_j e_j^s_j (1-e_j)^(1-s_j)  +  [y may be 0, no s_j] (1-f)

minus the penalties ``|theta|^2 / (2 C)`` and ``|phi|^2 / (2 C_e)``, intercepts free.
"""

import numpy as np
from scipy import optimize, sparse


def log_sigmoid(z):
    return -np.logaddexp(0.0, -z)


class Reference:
    """Parameters are theta (class, intercept last), then phi (propensity, intercept last).

    ``s`` is (n, J) with NaN for gaps, ``Z`` (n, J, k), ``known`` 1, 0 or NaN per row.
    """

    def __init__(
        self,
        X,
        s,
        Z,
        known=None,
        weight=None,
        C=np.inf,
        C_e=np.inf,
        offset_e=0.0,
    ):
        self.X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        s, Z = np.asarray(s, dtype=float), np.asarray(Z, dtype=float)
        self.s = s[:, None] if s.ndim == 1 else s
        self.Z = Z[:, None, :] if Z.ndim == 2 else Z
        n = len(self.X)
        self.seen = ~np.isnan(self.s)
        self.known = np.full(n, np.nan) if known is None else np.asarray(known, dtype=float)
        self.weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
        self.C, self.C_e, self.offset_e = C, C_e, offset_e
        self.k = self.X.shape[1] + 1

    def logits(self, parameters):
        theta, phi = parameters[: self.k], parameters[self.k :]
        eta = self.X @ theta[:-1] + theta[-1]
        zeta = self.Z @ phi[:-1] + phi[-1] + self.offset_e
        return eta, zeta

    def row_log_likelihood(self, eta, zeta):
        logs = log_sigmoid(np.where(np.nan_to_num(self.s) == 1, zeta, -zeta))
        positive = log_sigmoid(eta) + np.where(self.seen, logs, 0.0).sum(axis=1)
        negative = log_sigmoid(-eta)
        labelled = (np.nan_to_num(self.s) == 1).any(axis=1)
        positive = np.where(self.known == 0, -np.inf, positive)
        negative = np.where(labelled | (self.known == 1), -np.inf, negative)
        return np.logaddexp(positive, negative), positive

    def value(self, parameters):
        logs, _ = self.row_log_likelihood(*self.logits(parameters))
        theta, phi = parameters[: self.k], parameters[self.k :]
        penalty = theta[:-1] @ theta[:-1] / (2 * self.C) + phi[:-1] @ phi[:-1] / (2 * self.C_e)
        return -float(self.weight @ logs) + penalty

    def gradient(self, parameters):
        eta, zeta = self.logits(parameters)
        logs, positive = self.row_log_likelihood(eta, zeta)
        q = np.exp(positive - logs)
        by_eta = self.weight * (q - np.exp(log_sigmoid(eta)))
        by_chance = (np.nan_to_num(self.s) == 1) - np.exp(log_sigmoid(zeta))
        by_zeta = np.where(self.seen, (self.weight * q)[:, None] * by_chance, 0.0)
        theta, phi = parameters[: self.k], parameters[self.k :]
        g = np.empty(len(parameters))
        g[: self.k - 1] = self.X.T @ by_eta - theta[:-1] / self.C
        g[self.k - 1] = by_eta.sum()
        g[self.k : -1] = np.einsum("ij,ijk->k", by_zeta, self.Z) - phi[:-1] / self.C_e
        g[-1] = by_zeta.sum()
        return -g

    def solve(self, start=None):
        """The maximum near ``start``, to the last digits."""
        n = self.k + self.Z.shape[2] + 1
        x = np.zeros(n) if start is None else np.asarray(start, dtype=float)
        for _ in range(3):
            found = optimize.minimize(
                self.value,
                x,
                jac=self.gradient,
                method="BFGS",
                options={"gtol": 1e-10, "maxiter": 5000},
            )
            x = found.x
            for _ in range(6):  # Newton steps with a numerical Hessian
                H = optimize.approx_fprime(x, self.gradient, 1e-6)
                x = x - np.linalg.solve((H + H.T) / 2, self.gradient(x))
        assert np.abs(self.gradient(x)).max() < 1e-7, np.abs(self.gradient(x)).max()
        return x

    def climb(self, start):
        """The value and the place where SciPy's BFGS ends."""
        found = optimize.minimize(self.value, start, jac=self.gradient, method="BFGS")
        return found.fun, found.x

    def class_prior(self, parameters):
        eta, _ = self.logits(parameters)
        return float(np.average(np.exp(log_sigmoid(eta)), weights=self.weight))
