"""I can check fifty rows by hand: which ones, and what do I know afterwards?

A hospital table with a weak signal: from labels alone no method says how many are ill. A few rows
that someone checks do, with a confidence interval that holds whatever the model.

Run:  python examples/which_rows_to_check.py
"""

import warnings

import numpy as np
from scipy.special import expit

from sarlearn import CrossFitSARClassifier
from sarlearn.audit import class_prior_from_audit, suggest_audit


def simulate(n_rows=4000, seed=0):
    """Columns, who is ill, and who is diagnosed: the last column decides who is tested."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 7))
    ill = rng.random(n_rows) < expit(0.4 * X[:, :5].sum(axis=1) - 0.3)
    return X, ill, ill & (rng.random(n_rows) < expit(1.2 * X[:, 6] - 0.8))


def told(model) -> str:
    low, high = model.class_prior_range_
    return f"{model.class_prior_:.1%} are ill, between {low:.1%} and {high:.1%}"


def main():
    X, ill, diagnosed = simulate()
    print(f"In truth {ill.mean():.1%} are ill; {diagnosed.mean():.1%} are diagnosed.")
    model = CrossFitSARClassifier(propensity_features=[6], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the labels do not say it is what this is about
        model.fit(X, diagnosed)
    print(f"Labels alone: {told(model)}, if the model holds.")
    answers = {}
    for round_ in (1, 2):
        suggestion = suggest_audit(model, X, diagnosed, n=50, random_state=round_, **answers)
        found = ill[suggestion.rows]  # here someone examines the patients
        answers = suggestion.answers(found)
        model.fit(X, diagnosed, **answers)
        print(f"{50 * round_} rows checked: {told(model)}, whatever the model.")
    needed = class_prior_from_audit(diagnosed, **answers).rows_needed(0.05)
    print(f"About {needed} checked rows would bring the range under 5 points.")


if __name__ == "__main__":
    main()
