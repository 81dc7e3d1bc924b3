"""How many of the unlabelled are positive? Class-prior estimators, one file each."""

from sarlearn.priors._compare import compare_priors
from sarlearn.priors.alphamax import AlphaMax, AlphaMaxN
from sarlearn.priors.best_bin import BestBinEstimator
from sarlearn.priors.dedpul import DEDPUL
from sarlearn.priors.elkan_noto import ElkanNoto
from sarlearn.priors.kernel_mean import KernelMean
from sarlearn.priors.learner import LearnerPrior
from sarlearn.priors.pearson import PearsonDivergence
from sarlearn.priors.penalized_l1 import PenalizedL1
from sarlearn.priors.tice import TIcE

__all__ = [
    "DEDPUL",
    "AlphaMax",
    "AlphaMaxN",
    "BestBinEstimator",
    "ElkanNoto",
    "KernelMean",
    "LearnerPrior",
    "PearsonDivergence",
    "PenalizedL1",
    "TIcE",
    "compare_priors",
]
