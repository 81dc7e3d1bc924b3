"""A generated table to try things on."""

from numbers import Integral

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state, check_scalar

__all__ = ["make_patients"]


def make_patients(n_rows: int = 1500, *, random_state=None) -> Bunch:
    """Make a table of patients, where age and insurance decide which of the ill are diagnosed.

    Illness follows smoking, body mass and blood pressure. The chance that an ill patient is
    diagnosed is logistic in ``age`` and ``plan``, so the right ``propensity_features`` are
    ``["age", "plan"]``.

    Parameters
    ----------
    n_rows : int >= 1, default=1500
        How many patients.
    random_state : int, RandomState or None, default=None
        Of the draw.

    Returns
    -------
    Bunch
        ``frame``, a pandas DataFrame of numbers, words, truth values and gaps, whose column
        ``diagnosed`` is the label; ``y``, who is ill; ``propensity``, the chance to be diagnosed.

    See Also
    --------
    sarlearn.labelling.label : Draw labels from known classes.

    Examples
    --------
    >>> from sarlearn.datasets import make_patients
    >>> patients = make_patients(random_state=0)
    >>> list(patients.frame)
    ['patient_id', 'age', 'plan', 'smoker', 'bmi', 'pressure', 'region', 'diagnosed']
    >>> float(patients.y.mean().round(2)), float(patients.frame["diagnosed"].mean().round(2))
    (0.42, 0.2)
    """
    pd = _pandas()
    n, rng = check_scalar(n_rows, "n_rows", Integral, min_val=1), check_random_state(random_state)
    age = rng.normal(50, 12, n).round()
    plan = rng.choice(["none", "basic", "full"], n, p=[0.5, 0.3, 0.2])
    smoker = rng.random_sample(n) < 0.3
    bmi, pressure = rng.normal(26, 4, n), rng.normal(120, 15, n)
    region = rng.choice(["north", "south", "east", "west"], n)
    ill = expit(2.5 * smoker + 0.25 * (bmi - 27) + 0.08 * (pressure - 120) - 1)
    y = rng.random_sample(n) < ill
    covered = np.select([plan == "none", plan == "basic"], [-1.0, 0.3], 1.5)
    propensity = expit(0.05 * (age - 50) + covered)
    diagnosed = y & (rng.random_sample(n) < propensity)
    columns = {
        "patient_id": [f"{i:05d}" for i in range(n)],
        "age": age,
        "plan": plan,
        "smoker": smoker,
        "bmi": np.where(rng.random_sample(n) < 0.05, np.nan, bmi),
        "pressure": pressure,
        "region": np.where(rng.random_sample(n) < 0.03, None, region),
        "diagnosed": diagnosed.astype(int),
    }
    return Bunch(frame=pd.DataFrame(columns), y=y.astype(int), propensity=propensity)


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Tables need pandas: pip install pandas pyarrow narwhals.") from error
    return pandas
