"""Other people's learners from biased labels, for comparison: baselines, not recommendations.

None of them uses the propensity attributes that :class:`~sarlearn.SAREMClassifier` is told, and
where such attributes decide who is labelled, none comes near it. All models are this package's
logistic regression with an L2 penalty. The methods are published without sample weights; here a row
of weight 2 counts as two rows.

LBE (Gong et al. 2021) is left out on purpose. In its published objective the propensity's term is
``s log e + (1-s) log(1-e)``, so the propensity is the naive ``P(s=1|x)`` and the best classifier
calls every row positive; its scores measure when the optimiser was stopped.
"""

from sarlearn.baselines._propensity import SquareRootPropensityClassifier, TwoModelsClassifier
from sarlearn.baselines._ranking import PUSBClassifier, ThresholdClassifier

__all__ = [
    "PUSBClassifier",
    "SquareRootPropensityClassifier",
    "ThresholdClassifier",
    "TwoModelsClassifier",
]
