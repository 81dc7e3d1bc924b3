"""Class-prior estimators, one file each."""

from ._scores import out_of_fold_scores
from .best_bin import BestBinEstimator
from .elkan_noto import ElkanNoto

__all__ = ["BestBinEstimator", "ElkanNoto", "out_of_fold_scores"]
