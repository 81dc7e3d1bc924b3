"""Class-prior estimators, one file each."""

from ._scores import out_of_fold_scores
from .alphamax import AlphaMax, AlphaMaxN
from .best_bin import BestBinEstimator
from .dedpul import DEDPUL
from .elkan_noto import ElkanNoto
from .kernel_mean import KernelMean
from .pearson import PearsonDivergence
from .penalized_l1 import PenalizedL1
from .tice import TIcE

__all__ = [
    "DEDPUL",
    "AlphaMax",
    "AlphaMaxN",
    "BestBinEstimator",
    "ElkanNoto",
    "KernelMean",
    "PearsonDivergence",
    "PenalizedL1",
    "TIcE",
    "out_of_fold_scores",
]
