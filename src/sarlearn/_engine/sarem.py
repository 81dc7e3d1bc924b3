"""A whole fit of SAR-EM, from rows to parameters in the user's units."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sarlearn._engine.columns import conditioned
from sarlearn._engine.em import SAREM, run_to_slope
from sarlearn._engine.fixed_point import run_to_fixed_point
from sarlearn._engine.propensity import GroupedPropensity, choose_propensity, watch
from sarlearn._engine.rows import Rows
from sarlearn._engine.stopping import TOLERANCE, EMResult, ModelSlopeRule

# Label frequencies from which the joint maximum likelihood is sought, besides SAR-EM's solution.
JOINT_STARTS = (0.25, 0.6)


@dataclass
class SAREMFit:
    """Parameters are coefficients, then the intercept, in the user's units.

    ``em`` is the state at the end, on ``em.rows``, whose columns may be in other units.
    """

    theta: np.ndarray
    propensity_theta: np.ndarray
    class_prior: float
    result: EMResult
    em: SAREM

    @property
    def n_strata(self) -> tuple[int, int]:
        """Configurations of the propensity attributes without a labelled row, and all of them."""
        propensity = self.em.propensity
        if not isinstance(propensity, GroupedPropensity):
            return 0, 0
        bare = (propensity.labelled_weight == 0) & (propensity.unlabelled_weight > 0)
        return int(bare.sum()), len(propensity.values)


def fit_sar_em(
    rows: Rows,
    columns: np.ndarray,
    *,
    decay: float,
    C: float,
    propensity_C: float,
    stop: str = "slope",
    window: int = 10,
    tol: float | None = None,
    max_iter: int = 500,
    report: Callable[[], None] = lambda: None,
) -> SAREMFit:
    """Learn both models from rows that know their labels and weights.

    Parameters are those of :class:`sarlearn.SAREMClassifier`.
    """
    propensity, rows = choose_propensity(conditioned(rows), columns, propensity_C)
    em = SAREM(rows, propensity, decay=decay, C=C)
    result = run(em, stop, window, tol, max_iter, report)
    units = rows.units.of(columns)
    phi = units.to_user(propensity.theta)
    return SAREMFit(em.coefficients, phi, em.class_prior, result, em)


def run(em: SAREM, stop: str, window: int, tol: float | None, max_iter: int, report) -> EMResult:
    """From the start to where the rule ``stop`` ends."""
    tol = tol or TOLERANCE[stop]
    if stop == "slope":
        em.start()
        rule = ModelSlopeRule(*watch(em.rows, em.propensity), window, tol)
        return run_to_slope(em, rule, max_iter, report)
    if em.decay == 1 and len(em.propensity.theta):
        _start_joint(em, max_iter)
    else:
        em.start()
    return run_to_fixed_point(em, tol, max_iter, report)


def _start_joint(em: SAREM, max_iter: int) -> None:
    """Go to the most promising of several starts of the joint maximum likelihood.

    Undecayed EM that starts at c near 1 stays there: e = 1 is a fixed point too. So it starts
    from the decayed solution and from SCAR with fewer positives labelled; each runs a little,
    and the best penalised likelihood goes on.
    """
    em.decay = 0.9
    em.start()
    run_to_slope(em, ModelSlopeRule(*watch(em.rows, em.propensity), 10, 1e-4), max_iter)
    em.decay = 1.0
    decayed = em.parameters
    found = []
    for label_frequency in (None, *JOINT_STARTS):
        if label_frequency is None:
            em.move(decayed)
        else:
            em.start(label_frequency)
        run_to_fixed_point(em, 1e-3, min(max_iter, 50))
        found.append((em.penalized_log_likelihood, em.parameters))
    em.move(max(found, key=lambda pair: pair[0])[1])
