"""NTC-tMI: shift the logit of a label to the threshold that divides the unlabelled rows best.

P. Teisseyre, T. Martens, J. Bekker and J. Davis, Learning from biased positive-unlabeled data via
threshold calibration, AISTATS 2025. It assumes that the propensity grows with the class
probability, so that the logit of P(s=1|x) ranks rows correctly, and is written here because the
study's own figures could not be had.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, expit
from sklearn.linear_model import LogisticRegression

N_NEIGHBORS = 3
# Values tried, evenly spaced over the range that can hold the maximum.
N_THRESHOLDS = 100


class ThresholdClassifier:
    """A logistic regression on labels, cut at the ``threshold_`` with the most information.

    Of the candidates it is the one for which the logit of a row and whether it lies above share
    most information over the unlabelled rows, by the nearest-neighbour estimate of Ross (PLoS ONE
    9, 2014).
    """

    def fit(self, X, s) -> "ThresholdClassifier":
        self._plain = LogisticRegression(max_iter=1000).fit(X, s)
        self.threshold_ = threshold(self._plain.decision_function(X[s == 0]))
        return self

    def predict_proba(self, X) -> np.ndarray:
        p = expit(self._plain.decision_function(X) - self.threshold_)
        return np.column_stack([1 - p, p])


def threshold(z: np.ndarray, k: int = N_NEIGHBORS) -> float:
    """Where the logits of unlabelled rows fall into two groups."""
    z = np.sort(z)
    low, high = candidate_range(len(z), k)
    candidates = np.linspace(z[low], z[high], N_THRESHOLDS)
    shared = np.array([shared_information(z, t, k) for t in candidates])
    # Too few rows, or all alike, give no estimate: then the middle.
    found = candidates[np.nanargmax(shared)] if np.isfinite(shared).any() else np.median(z)
    # A row at the threshold is not above it, whatever the rounding of its score. And without a
    # shift there are as many positives as labels: there cannot be fewer.
    return min(float(found) + 1e-9 * float(np.abs(z).max()), 0.0)


def candidate_range(n_rows: int, k: int) -> tuple[int, int]:
    """Ranks between which the best threshold lies: where the estimate's upper bound exceeds the
    lower bound that the median reaches."""

    def above(share):
        left, right = share * n_rows, (1 - share) * n_rows
        upper = digamma(n_rows) - share * digamma(left) - (1 - share) * digamma(right)
        return upper - at_median

    half = n_rows / 2
    at_median = digamma(n_rows) - digamma(half)
    at_median += 2 * k / n_rows * (digamma(k) - digamma(half + k))
    least = 1e-10
    if above(least) >= 0:
        return 0, n_rows - 1
    low = int(n_rows * brentq(above, least, 0.5))
    return low, min(n_rows - low, n_rows - 1)


def shared_information(z: np.ndarray, t: float, k: int) -> float:
    """Ross's estimate of the information between sorted ``z`` and ``z > t``, up to a constant.

    Rows whose k nearest neighbours lie on their own side count k; only the k rows on either side
    of the threshold need looking at.
    """
    n, cut = len(z), int(np.searchsorted(z, t, side="right"))
    if min(cut, n - cut) < k + 1:
        return np.nan
    correction = 0.0
    for i in range(cut - k, cut + k):
        start, stop = (0, cut) if i < cut else (cut, n)
        distance = np.sort(np.abs(z[max(start, i - k) : min(stop, i + k + 1)] - z[i]))
        # Widened by rounding only: the k-th neighbour itself must count.
        radius = distance[k] * (1 + 1e-12)
        inside = np.searchsorted(z, z[i] + radius, "right") - np.searchsorted(z, z[i] - radius)
        correction += digamma(max(inside - 1, k)) - digamma(k)
    sizes = cut * digamma(cut) + (n - cut) * digamma(n - cut)
    return float(-(sizes + correction) / n - digamma(k))
