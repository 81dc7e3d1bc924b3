"""Sites were visited several times: on how many does the species live?

A species that is there is not always seen. Sites where it was seen on one visit and missed on
another say how often it is missed, and so how many of the sites without a sighting have it.

Run:  python examples/several_visits.py
"""

import numpy as np
from scipy.special import expit

from sarlearn import RepeatedSARClassifier
from sarlearn.inspection import history_test


def simulate(n_sites=600, n_visits=3, seed=0):
    """Forest, who lives there, wind on each visit, and sightings; some visits did not happen."""
    rng = np.random.default_rng(seed)
    forest, wind = rng.normal(size=(n_sites, 1)), rng.normal(size=(n_sites, n_visits))
    lives = rng.random(n_sites) < expit(0.2 + forest[:, 0])
    seen = lives[:, None] & (rng.random((n_sites, n_visits)) < expit(-0.5 - wind))
    visited = rng.random((n_sites, n_visits)) < 0.9
    return forest, lives, wind, np.where(visited, seen, np.nan)


def main():
    forest, lives, wind, seen = simulate()
    ever = np.nansum(seen, axis=1) > 0
    print(f"Seen on {ever.mean():.1%} of the sites; in truth it lives on {lives.mean():.1%}.")
    model = RepeatedSARClassifier().fit(forest, seen, chances=wind)
    low, high = model.class_prior_range_
    print(f"By three visits: {model.class_prior_:.1%}, between {low:.1%} and {high:.1%}.")
    calm, windy = model.predict_propensity(np.zeros((2, 1)), np.array([[-1.0], [1.0]]))[:, 0]
    print(f"A visit finds it with probability {calm:.2f} in calm weather, {windy:.2f} in wind.")
    hidden = model.predict_posterior(forest, seen, wind)[~ever]
    print(f"Of the {len(hidden)} sites without a sighting about {hidden.sum():.0f} have it.")
    print(history_test(model, forest, seen, wind, n_draws=39, random_state=0))


if __name__ == "__main__":
    main()
