"""How many of the unlabelled are positive? Class-prior estimators, one file each."""

from ._base import PriorCurve
from ._compare import PriorComparison, compare_priors
from ._display import PriorCurveDisplay
from ._scores import out_of_fold_scores
from .alphamax import AlphaMax, AlphaMaxN
from .best_bin import BestBinEstimator
from .crossfit import CrossFitPrior
from .dedpul import DEDPUL
from .elkan_noto import ElkanNoto
from .kernel_mean import KernelMean
from .pearson import PearsonDivergence
from .penalized_l1 import PenalizedL1
from .sarem_prior import SAREMPrior
from .tice import TIcE

__all__ = [
    "DEDPUL",
    "AlphaMax",
    "AlphaMaxN",
    "BestBinEstimator",
    "CrossFitPrior",
    "ElkanNoto",
    "KernelMean",
    "PearsonDivergence",
    "PenalizedL1",
    "PriorComparison",
    "PriorCurve",
    "PriorCurveDisplay",
    "SAREMPrior",
    "TIcE",
    "compare_priors",
    "out_of_fold_scores",
]
