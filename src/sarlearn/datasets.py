"""Tables to try things on: a generated one, and labels for one whose classes are known."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state, check_scalar

from sarlearn._validation import encode_classes
from sarlearn.labelling import GeometricLabelling, label

__all__ = ["label_table", "make_patients"]


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
    label_table : Draw labels for a table whose classes are known.

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


def label_table(
    table,
    class_column: str,
    propensity: Sequence[str],
    *,
    low: float = 0.2,
    high: float = 0.8,
    label_column: str = "labelled",
    random_state=None,
) -> Bunch:
    """Hide the classes of a table, and label some of its positives depending on columns you choose.

    The chance of a label grows from ``low`` to ``high`` along each column (words in alphabetical
    order), by :class:`~sarlearn.labelling.GeometricLabelling`. What a learner finds can then be
    compared with the truth.

    Parameters
    ----------
    table : pandas DataFrame
        The rows, with their known class.
    class_column : str
        The column of the class: 0 and 1, no and yes, or the like. It is left out of the result.
    propensity : sequence of str
        The columns, without gaps, that decide who is labelled.
    low, high : float in (0, 1], default=0.2 and 0.8
        The ends of the chance.
    label_column : str, default="labelled"
        Name of the new column.
    random_state : int, RandomState or None, default=None
        Of the draw.

    Returns
    -------
    Bunch
        ``frame``, the table with labels in place of classes; ``y``, the classes; ``propensity``,
        the chance of a label.

    See Also
    --------
    make_patients : A table of patients, some of the ill diagnosed.
    sarlearn.labelling.label : The same for a matrix, by any mechanism.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.datasets import label_table
    >>> tumours = load_breast_cancer(as_frame=True).frame
    >>> found = label_table(tumours, "target", ["mean radius"], random_state=0)
    >>> int(found.y.sum()), int(found.frame["labelled"].sum())
    (357, 134)
    """
    missing = [name for name in (class_column, *propensity) if name not in table]
    if missing:
        raise ValueError(
            f"The table has no column {missing[0]!r}; it has {', '.join(map(str, table))}."
        )
    if label_column in table:
        raise ValueError(f"The table already has a column {label_column!r}; name another one.")
    codes = {name: _numbers(table[name]) for name in propensity}
    y = encode_classes(table[class_column], name=class_column).astype(int)
    rule = GeometricLabelling(range(len(codes)), low=low, high=high)
    s, e = label(np.column_stack(list(codes.values())), y, rule, random_state=random_state)
    frame = table.drop(columns=class_column).assign(**{label_column: s})
    return Bunch(frame=frame, y=y, propensity=e)


def _numbers(column) -> np.ndarray:
    """Numbers as they are, words by their place in the alphabet."""
    if column.isna().any():
        raise ValueError(f"The column {column.name!r} has gaps, and cannot decide who is labelled.")
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=float)
    return np.unique(column.astype(str), return_inverse=True)[1].astype(float)


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Tables need pandas: pip install 'sarlearn[tables]'.") from error
    return pandas
