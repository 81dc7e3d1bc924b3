"""How the three studies label: the propensity of every row, and the columns it follows.

ECAI 2023: Teisseyre et al., double logistic regression, scenarios 1 to 3. ECAI 2024: Teisseyre,
Furmańczyk and Mielniczuk, testing SCAR, schemes S1 to S3. AISTATS 2025: the study of the
non-traditional classifier with a threshold, strategies S1 to S4. Details that the papers leave open
were read off the authors' public programs.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

# Columns that drive labelling in scenario 3, and its ends.
N_ATTRIBUTES, LOW, HIGH = 5, 0.2, 0.6


def class_probability(X, y) -> np.ndarray:
    """P(y=1|x) of a logistic regression on the true class, as all three studies take it."""
    return LogisticRegression(max_iter=1000).fit(X, y).predict_proba(X)[:, 1]


def scenario(number: int, level: float, X, y, rng) -> tuple[np.ndarray, list[int]]:
    """ECAI 2023. 1: e = c; 2: e = g P(y=1|x); 3: geometric mean over five columns, all rising."""
    if number == 1:
        return np.full(len(y), level), []
    if number == 2:
        return level * class_probability(X, y), list(range(X.shape[1]))
    if number != 3:
        raise ValueError(f"scenario is 1, 2 or 3; got {number!r}.")
    varies = np.flatnonzero(np.ptp(X, axis=0) > 0)
    columns = np.sort(rng.choice(varies, min(N_ATTRIBUTES, len(varies)), replace=False)).tolist()
    # Scaled by the rows given, as in Bekker, Robberechts and Davis (2019).
    x = np.ascontiguousarray(X[:, columns])
    factors = LOW + (x - x.min(axis=0)) / np.ptp(x, axis=0) * (HIGH - LOW)
    return np.clip((factors ** (1 / len(columns))).prod(axis=1), LOW, HIGH), columns


def strategy(name: str, X, y) -> np.ndarray:
    """AISTATS 2025: S1 .1; S2 .1 f; S3 sigmoid(-.5 f - 1.5); S4 .5 sigmoid(-.5 logit f)."""
    if name == "S1":
        return np.full(len(y), 0.1)
    f = class_probability(X, y)
    f = np.where(f == 1, 0.999, np.where(f == 0, 0.001, f))  # as their program does
    found = {
        "S2": 0.1 * f,
        "S3": expit(-0.5 * f - 1.5),
        "S4": 0.5 * expit(-0.5 * logit(f)),
    }
    if name not in found:
        raise ValueError(f"strategy is S1, S2, S3 or S4; got {name!r}.")
    return found[name]


def departure(scheme: str, strength: float, label_frequency: float, X, y) -> np.ndarray:
    """ECAI 2024: S1 follows the first column, S2 and S3 the class, with mean c over positives."""
    if strength == 0:
        return np.full(len(y), label_frequency)
    if scheme == "S1":
        direction, power = strength * X[:, 0], 1
    elif scheme in ("S2", "S3"):
        scale = np.sqrt(X.shape[1])
        direction = strength * logit(np.clip(class_probability(X, y), 0.001, 0.999)) / scale
        power = 1 if scheme == "S2" else 10
    else:
        raise ValueError(f"scheme is S1, S2 or S3; got {scheme!r}.")
    return expit(direction + intercept(direction[y == 1], label_frequency, power)) ** power


def intercept(direction: np.ndarray, label_frequency: float, power: int) -> float:
    """The constant for which the mean of ``sigmoid(direction + a) ** power`` is as wanted."""

    def excess(a: float) -> float:
        return float(np.mean(expit(direction + a) ** power)) - label_frequency

    reach = float(np.abs(direction).max()) + 50.0
    return float(brentq(excess, -reach, reach))
