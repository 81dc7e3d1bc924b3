"""My labels are biased: how many positives are hidden, and how sure am I?

A clinic knows which patients were diagnosed, not which are ill. Patients who see a doctor often are
diagnosed more often, so the diagnosed are a biased sample of the ill. The data here are simulated,
so that the truth is known and the answers can be checked against it.

Run it with ``python examples/biased_labels.py``.
"""

import warnings

import numpy as np

from sarlearn import SAREMClassifier
from sarlearn.classifiers.crossfit import CrossFitSARClassifier


def simulate(n_patients: int, *, clear: bool, seed: int = 0):
    """Patients, who is ill, and who is diagnosed. ``clear``: some are unmistakably ill."""
    rng = np.random.default_rng(seed)
    symptoms = rng.standard_normal((n_patients, 8))
    visits = np.minimum(rng.poisson(2.0, n_patients), 5)  # this decides who is diagnosed
    insured = rng.random(n_patients) < 0.6
    strength = 1.6 if clear else 0.25
    ill = rng.random(n_patients) < 1 / (1 + np.exp(0.5 - strength * symptoms[:, :5].sum(axis=1)))
    chance = 1 / (1 + np.exp(2.0 - 0.6 * visits - 0.8 * insured))
    diagnosed = ill & (rng.random(n_patients) < chance)
    X = np.column_stack([symptoms, visits, insured])
    return X, ill, diagnosed


def answer(X, ill, diagnosed) -> CrossFitSARClassifier:
    """Fit, and say in words what was found."""
    model = CrossFitSARClassifier(propensity_features=[8, 9], random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, diagnosed)
    n_patients, n_diagnosed = len(diagnosed), int(diagnosed.sum())
    found = [round(n_patients * share) - n_diagnosed for share in model.class_prior_range_]
    hidden = round(n_patients * model.class_prior_) - n_diagnosed
    print(f"  diagnosed: {n_diagnosed} of {n_patients}")
    print(f"  hidden positives: about {hidden}; the labels admit {found[0]} to {found[1]}")
    print(f"  truth: {int(ill.sum()) - n_diagnosed}")
    plain = SAREMClassifier(propensity_features=[8, 9]).fit(X, diagnosed)
    print(f"  plain SAR-EM says {round(n_patients * plain.class_prior_) - n_diagnosed}")
    for warning in caught:
        print(f"  warning: {warning.message}")
    return model


def main() -> None:
    print("Some patients are unmistakably ill:")
    X, ill, diagnosed = simulate(5000, clear=True)
    model = answer(X, ill, diagnosed)

    # Who should be examined next: patients not diagnosed, the most probably ill first.
    posterior = model.predict_posterior(X, diagnosed)
    waiting = np.flatnonzero(~diagnosed)
    first = waiting[np.argsort(-posterior[waiting])[:200]]
    print(f"  of the 200 to examine first, {int(ill[first].sum())} are ill")
    often, seldom = X[:, 8] >= 4, X[:, 8] == 0
    e = model.predict_propensity(X)
    print(
        f"  chance of a diagnosis: {e[often].mean():.2f} of the ill who come four times and more,"
    )
    print(f"                         {e[seldom].mean():.2f} of those who never come")

    print("Nobody is unmistakably ill:")
    answer(*simulate(2000, clear=False))


if __name__ == "__main__":
    main()
