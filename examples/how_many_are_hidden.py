"""My labels are biased: how many positives are hidden, and how sure am I?

Patients of three clinics. City clinics diagnose most of the ill, suburban ones few, so the
diagnosed are a biased sample. The data come with scikit-learn and the truth is known: it is
printed beside the answers, which do not see it.

Three answers: what the labels say, what "all the ill are diagnosed equally often" (SCAR) says, and
the cross-fit, with the range of answers that the labels admit. Then the same question to a table
whose columns hardly tell the ill from the healthy: the cross-fit says that it does not know.

Run:  python examples/how_many_are_hidden.py
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from sarlearn import CrossFitSARClassifier
from sarlearn.inspection import bootstrap

CHANCE = {"city": 0.9, "rural": 0.55, "suburb": 0.2}  # of a diagnosis, for the ill


def patients(seed=0):
    """Measurements and clinic (three 0/1 columns), who is ill, and who is diagnosed."""
    rng = np.random.default_rng(seed)
    data = load_breast_cancer()
    ill = data.target == 0
    clinic = rng.choice(list(CHANCE), len(ill))
    diagnosed = ill & (rng.random(len(ill)) < np.array([CHANCE[name] for name in clinic]))
    X = StandardScaler().fit_transform(data.data[:, :10])
    return np.column_stack([X, *(clinic == name for name in CHANCE)]), ill, diagnosed


def answer(X, s, truth):
    """How many of the unlabelled are positive, and how sure that is."""
    n_labelled = int(s.sum())
    clinics = list(range(X.shape[1] - 3, X.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of is said in the end
        model = CrossFitSARClassifier(clinics, random_state=0).fit(X, s)
        scar = CrossFitSARClassifier(random_state=0).fit(X, s)
    hidden = model.class_prior_ * len(s) - n_labelled
    low, high = (end * len(s) - n_labelled for end in model.class_prior_range_)
    print(f"  the labels alone          0 hidden, of {len(s)} patients {n_labelled} are diagnosed")
    print(f"  diagnosed at random {scar.class_prior_ * len(s) - n_labelled:7.0f} hidden")
    print(f"  diagnosed by clinic {hidden:7.0f} hidden, the labels admit {low:.0f} to {high:.0f}")
    print(f"  in truth            {truth:7.0f} hidden")
    width = model.identification_width_
    if width > 0.2:
        print(f"  Width {width:.2f}, above 0.2: the labels do not say how many. No number to use.")
    else:
        print(f"  Width {width:.2f}, below 0.2: the labels say how many.")
    return model


def main():
    X, ill, diagnosed = patients()
    print("All measurements:")
    model = answer(X, diagnosed, (ill & ~diagnosed).sum())
    print("  diagnosed among the ill, by clinic:", end="")
    for name, e in zip(CHANCE, model.predict_propensity(np.eye(13)[10:]), strict=True):
        print(f"  {name} {e:.0%} (truth {CHANCE[name]:.0%})", end="")
    drawn = bootstrap(model, X, diagnosed, n_resamples=50, random_state=0)
    low, high = (float(end) for end in drawn.interval("class_prior"))
    print(
        f"\n  Other patients would have given a share of ill of {low:.0%} to {high:.0%}, ", end=""
    )
    print(f"here it is {model.class_prior_:.0%}, in truth {ill.mean():.0%}.")

    print("\nTwo measurements that say little (texture, symmetry):")
    answer(X[:, [1, 8, 10, 11, 12]], diagnosed, (ill & ~diagnosed).sum())


if __name__ == "__main__":
    main()
