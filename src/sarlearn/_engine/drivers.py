"""Columns that labelling seems to follow beside those that were named: joint maxima compared.

The score test of a fit cannot see a driver where the fit takes every positive for labelled: a
propensity of 1 does not move with anything. So the column enters the propensity, and both models
are fitted again.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from sarlearn._engine.flexible import standardised
from sarlearn._engine.goodness import score_sums
from sarlearn._engine.joint import JointLogistic, climb_nested, nest

# Inverse penalty of both models.
C = 10.0
# Differences in log-likelihood that decide nothing.
TOL = 1e-3
# A gain above this is reported with a fit. On the choosing half of experiments/honesty no good
# answer came with as much.
STRONG = 20.0
# So many columns are tried with a fit, those with the largest scores; none of a wider table, where
# the joint maximum takes seconds and follows chance.
N_TRIED, MAX_COLUMNS = 2, 60


class Driver(NamedTuple):
    """Twice what naming a column adds to the likelihood, less its cost; the class prior then."""

    gain: float
    class_prior: float


class DriverSearch:
    """The joint maximum with the columns that were named, and what others add to it."""

    def __init__(self, X, labelled: np.ndarray, named: list[int], weight=None):
        self._X, self._labelled, self._named, self._weight = X, labelled, named, weight
        self._base = self._model(named)
        self._fit = self._base.fit(labelled, weight)
        f, e = self._base.probabilities(self._fit.parameters)
        eta, zeta = (logit(np.clip(p, 1e-12, 1 - 1e-12)) for p in (f, e))
        Z = standardised(X, weight)
        sums = score_sums(eta, zeta, labelled, Z[:, named], Z, of_class=False, weight=weight)
        self.z = sums.z

    def _model(self, columns: list[int]) -> JointLogistic:
        return JointLogistic(self._X, np.array(columns, dtype=np.intp), C=C, propensity_C=C)

    def driver(self, group: list[int]) -> Driver:
        """What these columns add; their cost is that of BIC."""
        wider, n_theta = self._named + group, self._base.n_theta
        start = nest(self._fit.parameters, n_theta, self._named, wider)
        model, data = self._model(wider), (self._labelled, self._weight)
        found = climb_nested(model, start, *data, tol=TOL)
        # The columns may only have led to a better maximum of the model without them.
        back = nest(found.parameters, n_theta, wider, self._named)
        without = self._base.climb(back, *data, tol=TOL).value
        rise = found.value - max(self._fit.value, without)
        n_rows = len(self._labelled) if self._weight is None else float(np.sum(self._weight))
        cost = len(group) * float(np.log(n_rows))
        prior = float(model.class_prior(found.parameters, self._weight))
        return Driver(2 * rise - cost, prior)


def strong_driver(Z: np.ndarray, columns: np.ndarray, labelled, weight) -> dict[int, Driver]:
    """The column, by number, that labelling follows beyond doubt if the class is linear.

    ``Z`` is standardised. Of several the one with the largest gain: beside it another may add
    nothing.
    """
    others = np.setdiff1d(np.arange(Z.shape[1]), columns)
    if not len(others) or Z.shape[1] > MAX_COLUMNS:
        return {}
    search = DriverSearch(Z, labelled, sorted(int(j) for j in columns), weight)
    first = others[np.argsort(-np.abs(search.z[others]), kind="stable")[:N_TRIED]]
    cost = 2 * float(np.log(len(others)))
    found = {int(j): search.driver([int(j)]) for j in first}
    best = max(found, key=lambda j: found[j].gain)
    return {best: found[best]} if found[best].gain - cost > STRONG else {}
