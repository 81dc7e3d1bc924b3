"""How many of the unlabelled are positive? Class-prior estimators, one file each."""

from sarlearn.priors._compare import compare_priors
from sarlearn.priors._scores import out_of_fold_scores
from sarlearn.priors.alphamax import AlphaMax, AlphaMaxN
from sarlearn.priors.best_bin import BestBinEstimator
from sarlearn.priors.boosted import BoostedPrior
from sarlearn.priors.crossfit import CrossFitPrior
from sarlearn.priors.dedpul import DEDPUL
from sarlearn.priors.elkan_noto import ElkanNoto
from sarlearn.priors.kernel_mean import KernelMean
from sarlearn.priors.pearson import PearsonDivergence
from sarlearn.priors.penalized_l1 import PenalizedL1
from sarlearn.priors.sarem_prior import SAREMPrior
from sarlearn.priors.tice import TIcE

__all__ = [
    "DEDPUL",
    "AlphaMax",
    "AlphaMaxN",
    "BestBinEstimator",
    "BoostedPrior",
    "CrossFitPrior",
    "ElkanNoto",
    "KernelMean",
    "PearsonDivergence",
    "PenalizedL1",
    "SAREMPrior",
    "TIcE",
    "compare_priors",
    "out_of_fold_scores",
]
