"""Are all positives equally likely to be labelled, and if not, what decides?

A clinic knows some patients with a disease. Whether a patient was tested may depend on age or on
the distance to the clinic. The test says whether one label frequency for all is tenable; the
selection says which attributes are needed.

Run:  python examples/does_labelling_depend_on.py
"""

import numpy as np
from scipy.special import expit

from sarlearn.inspection import scar_test, select_propensity_features

NAMES = ["marker", "age", "distance", "pulse"]


def simulate(n_rows=2000, seed=0):
    """The disease follows the marker and age; who is tested follows the distance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(NAMES)))
    ill = rng.random(n_rows) < expit(3 * X[:, 0] + X[:, 1])
    tested = rng.random(n_rows) < expit(-1.2 * X[:, 2])
    return X, ill & tested


def main():
    import pandas as pd

    X, s = simulate()
    table = pd.DataFrame(X, columns=NAMES)

    print(scar_test(table, s, ["age", "distance", "pulse"], n_draws=99, random_state=0))
    print()
    found = select_propensity_features(
        table, s, ["age", "distance", "pulse"], n_resamples=20, random_state=0
    )
    print(found)
    print(f"\nUse it:  SAREMClassifier(propensity_features={found.features})")


if __name__ == "__main__":
    main()
