"""What the trees climb: the loss of a row's labels by its class logit."""

import numpy as np

from sarlearn._engine.likelihood import (
    expected_information,
    label_odds,
    label_residual,
    sigmoids,
)

# Beyond it second derivatives are hardly above the least Hessian, which LightGBM needs: a leaf of
# rows without curvature would get a value of any size.
LOGIT_LIMIT = 12.0
LEAST_HESSIAN = 1e-6


def loss_derivatives(
    logits, e, not_e, labelled, weight, audited=None
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of ``-log P(s|x)`` by the logit of ``f``, and its expected second derivative.

    Where the class was audited, they are those of logistic regression.

    With the second derivative of ``f`` alone, ``f (1-f)``, two to three times the rounds were
    needed, and one simulated class stayed unlearned.
    """
    f, not_f = sigmoids(np.clip(logits, -LOGIT_LIMIT, LOGIT_LIMIT))
    gradient = -not_f * label_residual(label_odds(f, not_f, e, not_e), labelled)
    hessian, _, _ = expected_information(f, not_f, e, not_e)
    if audited is not None:
        known = ~np.isnan(audited)
        gradient = np.where(known, f - audited, gradient)
        hessian = np.where(known, f * not_f, hessian)
    hessian = np.maximum(hessian, LEAST_HESSIAN)
    if weight is not None:
        gradient, hessian = gradient * weight, hessian * weight
    return gradient, hessian
