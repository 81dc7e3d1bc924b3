"""How sure is the share of positives, is it identified at all, and what does it hang on?

Intervals say how much an estimate would vary; identifiability looks for other answers that fit as
well; sensitivity shows what other choices would have given.

Run:  python examples/how_sure.py
"""

import numpy as np
from scipy.special import expit

from sarlearn import SAREMClassifier
from sarlearn.inspection import bootstrap, identifiability, sensitivity


def simulate(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = rng.random(n_rows) < expit(4 * X[:, 0] + X[:, 1] - 1)
    return X, y, y & (rng.random(n_rows) < expit(X[:, 2]))


def main():
    X, y, s = simulate()
    # decay=1 and a weak penalty: maximum likelihood, which has no shift of its own.
    model = SAREMClassifier([2], decay=1, C=100, propensity_C=100, stop="fixed_point").fit(X, s)
    print(f"{s.mean():.1%} of the rows are labelled; in truth {y.mean():.1%} are positive.\n")
    print(bootstrap(model, X, s, n_resamples=100, random_state=0))
    print()
    print(identifiability(model, X, s, n_starts=8, random_state=0))
    print()
    print(sensitivity(model, X, s, decay=[0.8, 0.9, 1.0], propensity_features=[[2], [1, 2], []]))


if __name__ == "__main__":
    main()
