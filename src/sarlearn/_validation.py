"""Checks of user input: labels, propensities, audits, class priors. Every check, once."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sklearn.utils.validation as of_sklearn
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from sarlearn._compat import check_sample_weight
from sarlearn._labels import choose, fill_labels, gap_mask, is_gap, meaning, warn_of_labels
from sarlearn._words import counted, no_column, origin, quoted
from sarlearn.exceptions import DataWarning, warn

# Below this number of labelled rows every estimate is very uncertain.
FEW_LABELS = 30
# Squares of weights beyond this are too large, or too small, for a double.
LARGEST_WEIGHT = 1e100


def validate_data(estimator, X, *arguments, **options):
    """scikit-learn's check of the input of an estimator, with an error that names a date."""
    refuse_dates(X, type(estimator).__name__)
    with np.errstate(over="ignore", invalid="ignore"):  # its search for NaN adds up all values
        found = of_sklearn.validate_data(estimator, X, *arguments, **options)
    if isinstance(found, tuple):
        return (tidy(found[0]), *found[1:])
    return tidy(found)


def check_array(X, **options):
    """The same for rows that no estimator is given."""
    refuse_dates(X, "this function")
    with np.errstate(over="ignore", invalid="ignore"):
        return tidy(of_sklearn.check_array(X, **options))


def tidy(X):
    """Sparse rows with one entry per value, in order: a copy, where they have more.

    Whoever needs them so would otherwise change the caller's matrix in place.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def refuse_dates(X, who: str) -> None:
    """Dates and spans of time are no numbers before someone says in what unit."""
    kinds = getattr(X, "dtypes", None)
    if kinds is None:
        kinds = [getattr(X, "dtype", None)]
    for number, kind in enumerate(kinds):
        # NumPy and pandas say it by a letter, polars by a method.
        dated = getattr(kind, "kind", "") in ("M", "m")
        if dated or getattr(kind, "is_temporal", bool)():
            columns = getattr(X, "columns", None)
            what = "X" if columns is None else f"Column {columns[number]!r} of X"
            raise ValueError(
                f"{what} holds dates or times ({kind}), and {who} needs numbers: days since some "
                "date, for one. SARClassifier takes a data frame with dates as it is."
            )


def encode_labels(s, *, warn_few: bool = True, pos_label=None) -> tuple[np.ndarray, np.ndarray]:
    """Turn observed labels into ``(labelled, classes)``: a boolean array and the two values.

    ``classes[1]`` means labelled. It is ``pos_label`` where given; 1 of 0/1 and -1/1, True of
    False/True, "labelled" of labelled/unlabelled and its like; of any other two values the greater
    one, with a warning. A missing label means unlabelled.
    """
    s, classes, kind = _values(fill_labels(s, pos_label=pos_label), "s")
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {kind}. s must hold two classes of label: 0 (unlabelled) and "
            "1 (labelled), False/True or -1/1."
        )
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: s has "
            f"{_shown(classes)}; it must hold 0 (unlabelled) and 1 (labelled). Rows that were "
            "checked and found negative are 0 in s, and 0 in audited, which is NaN for rows that "
            "nobody checked: fit(X, s, audited=...)."
        )
    if len(classes) < 2:
        only = (classes.tolist() or [0])[0]  # without a row none is labelled
        which = "no" if meaning(only) is False else "every"
        raise ValueError(
            f"s holds only one class, {only!r}: {which} row is labelled. Learning needs labelled "
            "rows (1) and unlabelled rows (0)."
        )
    choice = choose(classes.tolist(), gaps=False, pos_label=pos_label)
    assert choice is not None  # two values always give one
    if choice.labelled == classes.tolist()[0]:
        classes = classes[::-1].copy()
    labelled = s == classes[1]
    n_labelled = int(labelled.sum())
    warn_of_labels(choice, n_labelled, len(s), given=pos_label is not None)
    if warn_few:
        warn_few_labels(n_labelled)
    return labelled, classes


def warn_few_labels(n_labelled: int) -> None:
    if n_labelled < FEW_LABELS:
        text = (
            f"Only {n_labelled} labelled rows: with fewer than {FEW_LABELS} the class prior and "
            "the propensity are very uncertain. Label more rows, or use fewer propensity features."
        )
        warn(DataWarning("few-labels", text))


def check_groups(groups, n_rows: int) -> np.ndarray | None:
    """The number of each row's group, or None: at least two groups, and no gap."""
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(f"groups must hold one value per row, {n_rows}; got {values.shape}.")
    gaps = gap_mask(values)
    if gaps is not None:
        raise ValueError(f"groups has no value in row {int(np.argmax(gaps))}: name every group.")
    names, codes = np.unique(values.astype(str), return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"groups holds one value only, {values.tolist()[0]!r}: two are needed.")
    return codes


def encode_new_labels(s, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Labels at predict time, against the classes seen in fit."""
    s = np.asarray(s)
    gaps = gap_mask(s) if s.ndim == 1 else None
    s = column_or_1d(s if gaps is None else np.where(gaps, classes[0], s), warn=True)
    if len(s) != n_rows:
        raise ValueError(f"s has {len(s)} rows, X has {n_rows}.")
    known = set(classes.tolist())
    unknown = [value for value in dict.fromkeys(s.tolist()) if value not in known]
    if unknown:
        raise ValueError(
            f"s holds {unknown[:5]}, which fit did not see; accepted are {classes.tolist()}."
        )
    return s == classes[1]


def encode_classes(y, *, name: str = "y") -> np.ndarray:
    """True where a known class is the positive one, of two values or 1 alone.

    Of two values it is the one :func:`encode_labels` would take.
    """
    y, classes, kind = _values(y, name)
    if kind not in ("binary", "multiclass") or len(classes) > 2:
        raise ValueError(
            f"{name} must hold two classes, such as 0/1, False/True or -1/1; it is {kind} with "
            f"{_shown(classes)}."
        )
    if len(classes) == 1:
        if classes[0] in (-1, 0, 1):
            return y == 1
        raise ValueError(
            f"{name} holds only {classes.tolist()[0]!r}, which could be either class; with one "
            "class alone, 1 (or True) means positive, 0 (or -1, False) negative."
        )
    choice = choose(classes.tolist(), gaps=False)
    assert choice is not None
    return y == choice.labelled


def _values(labels, name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Labels as an array, which values they have, and what scikit-learn takes them for."""
    values = column_or_1d(labels, warn=True)
    assert_all_finite(values, input_name=name)
    kind = type_of_target(values, input_name=name, raise_unknown=True)
    return values, np.unique(values), kind


def _shown(classes: np.ndarray) -> str:
    return f"{len(classes)} values ({quoted(classes.tolist(), 5)})"


def check_weights(sample_weight, X) -> np.ndarray | None:
    """Non-negative float64 weights, or None when every row counts once."""
    if sample_weight is None:
        return None
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    largest = float(weight.max(initial=0.0))
    if largest > LARGEST_WEIGHT or 0 < largest < 1 / LARGEST_WEIGHT:
        raise ValueError(
            f"The largest sample_weight is {largest:g}; weights between {1 / LARGEST_WEIGHT:g} and "
            f"{LARGEST_WEIGHT:g} can be computed with. Divide them all by their mean."
        )
    return weight


def check_part_weights(values, name: str = "sample_weight", first: int = 0) -> np.ndarray:
    """Weights of some of the rows, from number ``first`` on; unlike all of them they may be 0."""
    weight = np.asarray(values, dtype=np.float64)
    bad = ~(np.isfinite(weight) & (weight >= 0))
    message = "{name} must not be negative, missing or infinite; row {row} has {value!s}."
    _refuse(bad, weight, message, name=name, first=first)
    return weight


def resolve_features(
    spec, feature_names: Sequence[str] | None, n_features: int, *, what="propensity_features"
) -> np.ndarray:
    """Column indices meant by names, indices, a boolean mask, "all", or a callable on the names.

    A name means all columns made of it, too: ``"plan"`` is ``"plan=basic"`` and its like. A
    callable gets the names (``x0, x1, ...`` where the input had none) and returns any other form.
    """
    names = None if feature_names is None else [str(name) for name in feature_names]
    if callable(spec):
        names = names or [f"x{i}" for i in range(n_features)]
        spec = spec(np.asarray(names, dtype=object))
    spec = () if spec is None else spec
    if isinstance(spec, str) and spec == "all" and "all" not in (names or ()):
        return np.arange(n_features)
    items = [spec] if isinstance(spec, str | int | np.integer) else list(spec)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_features:
            n = len(items)
            raise ValueError(f"{what} is a mask of length {n}, but X has {n_features} columns.")
        return np.flatnonzero(np.asarray(items, dtype=bool))
    places: dict[str, list[int]] = {}
    for j, name in enumerate(names or ()):
        for known in {name, origin(name)}:
            places.setdefault(known, []).append(j)
    unknown = [item for item in items if isinstance(item, str) and item not in places]
    if unknown and names is None:
        raise ValueError(
            f"{what} holds {quoted(unknown, 3)}, and X has no column names. Pass "
            "a data frame, or indices. A step before, such as a scaler in a pipeline, keeps the "
            "names after .set_output(transform='pandas')."
        )
    if unknown:
        raise ValueError(f"{what}: {no_column(unknown, places)}")
    columns: dict[int, None] = {}
    for item in items:
        found = dict.fromkeys(_resolve_one(item, places, n_features, what))
        if not columns.keys().isdisjoint(found):
            raise ValueError(f"{what} names a column twice: [{item!r}].")
        columns |= found
    return np.array(list(columns), dtype=np.intp)


def _resolve_one(item, places: dict[str, list[int]], n_features: int, what: str) -> list[int]:
    """The columns that one name, or index, means."""
    if isinstance(item, str):
        return places[item]
    if isinstance(item, int | np.integer):
        if not -n_features <= item < n_features:
            raise ValueError(
                f"{what}: column index {item} is out of range; X has {n_features} columns, so "
                f"indices run from 0 to {n_features - 1}."
            )
        return [int(item) % n_features]
    raise ValueError(
        f"{what} must hold column names, indices or a boolean mask; got {item!r} "
        f"({type(item).__name__})."
    )


def check_propensity(propensity, labelled: np.ndarray) -> np.ndarray:
    """A known propensity as one float64 per row, in (0, 1]; a single number is repeated.

    Zero is allowed on unlabelled rows only: such a positive could never be labelled.
    """
    values = check_probabilities(propensity, "propensity", len(labelled), one_for_all=True)
    _refuse(
        labelled & (values == 0),
        values,
        "propensity is 0 on labelled row {row} ({rows}): a row that was labelled had a positive "
        "chance.",
    )
    return values


def check_probabilities(values, name: str, n_rows: int, *, one_for_all=False) -> np.ndarray:
    """One float64 in [0, 1] per row; ``one_for_all`` lets a single number stand for all rows."""
    p = np.asarray(values, dtype=np.float64)
    if p.ndim == 0 and one_for_all:
        p = np.full(n_rows, float(p))
    if p.ndim != 1:
        hint = "; pass predict_proba(X)[:, 1]" if p.ndim == 2 and p.shape[1] == 2 else ""
        raise ValueError(f"{name} must hold one probability per row; got shape {p.shape}{hint}.")
    if len(p) != n_rows:
        raise ValueError(f"{name} has {len(p)} values for {n_rows} rows.")
    outside = ~((p >= 0) & (p <= 1))  # also true for NaN
    _refuse(outside, p, "{name} must lie in [0, 1]; row {row} has {value!s} ({rows}).", name=name)
    return p


def _refuse(bad: np.ndarray, values: np.ndarray, message: str, *, name="", first=0) -> None:
    """Where any row is bad: an error that names the first one and its value."""
    if bad.any():
        row, rows = int(np.argmax(bad)), counted(int(bad.sum()), "such row")
        raise ValueError(message.format(name=name, row=first + row, value=values[row], rows=rows))


@contextlib.contextmanager
def pointing_to_tables(X, learner: str) -> Iterator[None]:
    """Where a check refuses words or gaps, say what takes a table as it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        what = _words_or_gaps(X)
        if what is None:
            raise
        first = (str(error).splitlines() or [""])[0].rstrip(".")
        raise ValueError(
            f"{first}. X has {what}, and {learner} needs numbers: SARClassifier takes a data frame "
            "with words and gaps as it is, and TableEncoder(terms=True) makes numbers of one."
        ) from error


def _words_or_gaps(X) -> str | None:
    """Whether a table or an array holds text or missing numbers; None for anything else."""
    try:
        values = np.asarray(X.data if hasattr(X, "toarray") else X)
    except (TypeError, ValueError):
        return None
    cells = values.ravel().tolist() if values.dtype.kind in "OUSf" else []
    if any(isinstance(cell, str | bytes) for cell in cells):
        return "words"
    return "gaps" if any(map(is_gap, cells)) else None


@dataclass(frozen=True)
class Audit:
    """Checked rows: the class found, and, where known, how they were drawn.

    ``known`` is 1, 0, or NaN per row; ``probability`` and ``round_of`` are None where the draw is
    not known.
    """

    known: np.ndarray
    probability: np.ndarray | None = None
    round_of: np.ndarray | None = None


def check_audit(audited, probability, round_of, labelled: np.ndarray) -> Audit | None:
    """What ``fit`` was told about audits, checked; None where it was told nothing."""
    if probability is None and round_of is not None:
        raise ValueError("audit_round is given without audit_probability, which it belongs to.")
    if audited is None:
        if probability is not None:
            raise ValueError("audit_probability is given without audited, which it belongs to.")
        return None
    known = check_audited(audited, labelled)
    if probability is None:
        return Audit(known)
    chance = number_column(probability, "audit_probability", len(labelled))
    drawn = ~np.isnan(chance)
    _refuse(
        drawn & ~((chance > 0) & (chance <= 1)),
        chance,
        "audit_probability must lie in (0, 1], or be missing where a row was not drawn; row {row} "
        "has {value:g} ({rows}).",
    )
    _refuse(
        ~np.isnan(known) & ~drawn & ~labelled,
        known,
        "Row {row} is audited and has no audit_probability ({rows}). Rows that were checked "
        "outside of the draw have no known chance: leave their class out, or leave "
        "audit_probability out.",
    )
    if round_of is None:
        return Audit(known, chance)
    rounds = number_column(round_of, "audit_round", len(labelled))
    lost = drawn & ~labelled & np.isnan(rounds)
    _refuse(lost, rounds, "Row {row} has an audit_probability and no audit_round ({rows}).")
    return Audit(known, chance, rounds)


def check_audited(audited, labelled: np.ndarray) -> np.ndarray:
    """Audited classes as 1.0, 0.0 or NaN per row, and consistent with the labels."""
    known = number_column(audited, "audited", len(labelled))
    _refuse(
        ~(np.isnan(known) | (known == 0) | (known == 1)),
        known,
        "audited must hold 1 (found positive), 0 (found negative), or a missing value where nobody "
        "looked; row {row} has {value:g} ({rows}).",
    )
    _refuse(
        labelled & (known == 0),
        known,
        "Row {row} is labelled and was audited as negative ({rows}). A label means positive here: "
        "take the label off such rows, or leave the rows out.",
    )
    if np.isnan(known[~labelled]).all():
        n_audited = int(np.sum(~np.isnan(known)))
        raise ValueError(
            f"No unlabelled row is audited ({n_audited} labelled rows are, which says nothing "
            "new). Give 1 or 0 for unlabelled rows that someone has checked."
        )
    return known


def number_column(values, name: str, n_rows: int) -> np.ndarray:
    """One float64 per row; None, NaN and pandas' NA are missing."""
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.ndim != 1 or len(array) != n_rows:
        raise ValueError(
            f"{name} must have one value for each of {n_rows} rows; got {array.shape}."
        )
    if array.dtype.kind in "OUS":
        array = np.array([np.nan if is_gap(value) else value for value in array], dtype=object)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers and missing values: {error}.") from None


def check_class_prior(class_prior, label_share: float) -> tuple[float, float, float] | None:
    """What is known of the class prior: its bounds and its standard error; None where nothing is.

    Accepted are a number, bounds ``(low, high)``, and ``{"mean": ..., "standard_error": ...}``.
    """
    if class_prior is None:
        return None
    if isinstance(class_prior, dict) and set(class_prior) == {"mean", "standard_error"}:
        mean, error = (float(class_prior[key]) for key in ("mean", "standard_error"))
        if 0 < mean < 1 and 0 < error < 1:
            return mean, mean, error
        raise ValueError(
            "class_prior needs a mean and a standard_error between 0 and 1; got "
            f"{mean!r} and {error!r}."
        )
    ends = np.ravel(class_prior)
    if isinstance(class_prior, dict) or len(ends) != 1 + np.ndim(class_prior):
        raise ValueError(
            "class_prior must be a number, (low, high), or a dict with the keys 'mean' and "
            f"'standard_error'; got {class_prior!r}."
        )
    low, high = float(ends[0]), float(ends[-1])
    if not 0 < low <= high < 1:
        raise ValueError(
            f"class_prior must lie between 0 and 1, its lower end first; got {class_prior!r}."
        )
    if high <= label_share:
        raise ValueError(
            f"class_prior={class_prior!r} is below the share of labelled rows, {label_share:.4g}, "
            "which are all positive."
        )
    return max(low, label_share * (1 + 1e-9)), high, 0.0
