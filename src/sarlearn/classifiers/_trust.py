"""What a learner says of its own class prior after a fit: a range, a word, and warnings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from scipy.special import logit, ndtr, ndtri

from sarlearn._engine.averaging import LabelModels, PriorAverage, PriorEstimate, enough, sample_of
from sarlearn._engine.boosting_data import BoostedFit
from sarlearn._engine.boosting_data import Rows as BoostedRows
from sarlearn._engine.crossfit import CrossFit
from sarlearn._engine.examine import NONLINEAR, SURE, Examination, examine, sample_rows
from sarlearn._engine.propensity import label_share
from sarlearn.exceptions import (
    LeakageWarning,
    MisfitWarning,
    ShapeWarning,
    SwapWarning,
    UnidentifiedWarning,
    UnnamedDriverWarning,
    warn,
)

# Widths of the range, were it not cut at 1 and at the share of labels: up to the first the class
# prior is pinned down well, up to the second roughly, beyond it not at all. Like the next, chosen
# on the cells of experiments/honesty that are to choose by.
NARROW, WIDE = 0.18, 0.4
# The range reaches so many standard errors to either side: a little more than held the truth in
# nine of ten of these cells.
REACH = 1.8
# An estimate that is further off than this is wrong for most purposes.
BAD = 0.1
_SILENT: ContextVar[bool] = ContextVar("sarlearn_no_second_look", default=False)


def look_again(
    model,
    X,
    labelled: np.ndarray,
    weight: np.ndarray | None,
    eta: np.ndarray,
    zeta: np.ndarray,
    estimate: PriorEstimate | None = None,
    *,
    found: PriorAverage | None = None,
    shown: np.ndarray | None = None,
    start: float | None = None,
    n_rows: int | None = None,
    columns: np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """A second look at a fit, as attributes of the model and as warnings.

    Parameters
    ----------
    model : learner
        With ``class_prior_``, ``propensity_features_``, and names of its columns where it has any.
    X, labelled, weight : the rows, or a sample of them
    eta, zeta : ndarray of shape (n_rows,)
        Logits of ``f``, held out where the learner has such, and of ``e``.
    estimate : PriorEstimate, default=None
        The learner's, by a held-out score.
    found, shown, start : PriorAverage, ndarray of shape (n_rows,) and float, default=None
        As for :func:`sarlearn._engine.examine.examine`.
    n_rows : int, default=None
        Of the whole table, where the rows are a sample.
    columns, names : ndarray of int and sequence of str, default=None
        The propensity's columns of ``X``, and what to call all of them, where ``X`` is not what
        the user gave.
    """
    if _SILENT.get() or not enough(labelled):
        share = float(np.average(labelled, weights=weight))
        range_only(model, (share, 1.0) if estimate is None else (estimate.low, estimate.high))
        if estimate is not None and model.certainty_ == "not at all" and not _SILENT.get():
            warn(UnidentifiedWarning(float(model.class_prior_), *model.class_prior_range_))
        return
    rows = sample_rows(labelled)
    columns_of_rows = (labelled, eta, zeta, weight, shown)
    part = [None if column is None else column[rows] for column in columns_of_rows]
    labelled, eta, zeta, weight, shown = part  # type: ignore[assignment]
    seen = examine(
        X[rows],
        model.propensity_features_ if columns is None else columns,
        labelled,
        eta,
        zeta,
        weight,
        estimate=estimate,
        found=found,
        shown=shown,
        start=start,
        n_rows=n_rows,
        linear=hasattr(model, "coef_"),
    )
    _store(model, seen)
    _tell(model, seen, names or _names(model, len(seen.driver_z)))


@contextmanager
def no_second_look() -> Iterator[None]:
    """Within it fits do without: resamples and trials of settings that nobody reads one by one."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def look_at_cross_fit(model, found: CrossFit) -> None:
    """The same of a cross-fit, whose scores are held out; or that nothing tells the two apart."""
    if found.kept:
        share = label_share(found.rows)
        nothing_to_tell_apart(model, share)
        warn(UnidentifiedWarning(float(model.class_prior_), share, 1.0, debiased=False))
        return
    some, labels = sample_of(found.rows), found.labels
    phi = np.append(labels.propensity_coef, labels.propensity_intercept)
    columns = model.propensity_features_
    models = LabelModels(_dense(some.X, columns), some.labelled, some.weight)
    ends = (found.profile.low, found.profile.high)
    look_again(
        model,
        some.X,
        some.labelled,
        some.weight,
        labels.slope * some.score + labels.intercept,  # type: ignore[operator,arg-type]
        models.logits(phi),
        PriorEstimate("the model's own", labels.class_prior, *ends, labels.log_likelihood, phi),
        found=found.average,
        shown=logit(np.clip(some.e, 1e-12, 1 - 1e-12)),  # type: ignore[arg-type]
        n_rows=found.rows.shape[0],
    )


def look_at_boosted(model, found: BoostedFit, rows: BoostedRows) -> None:
    """The same of boosted trees, on terms without gaps and categories."""
    some = sample_rows(rows.labelled)
    X = rows.X[some]
    e = found.propensity.of(rows.attributes()[some])
    zeta = logit(np.clip(e, 1e-12, 1 - 1e-12))
    held_out = float(np.mean([run.labels.log_likelihood for run in found.runs]))
    estimate = PriorEstimate(
        "the model's own",
        found.class_prior,
        *found.class_prior_range,
        held_out * len(some) / len(rows.labelled),
    )
    look_again(
        model,
        rows.linear.dense(X),
        rows.labelled[some],
        None if rows.weight is None else rows.weight[some],
        found.held_out[some],
        zeta,
        estimate,
        n_rows=len(rows.labelled),
        columns=rows.terms,
        names=rows.linear.names(_names(model, rows.X.shape[1]), model.categories_.by_column),
    )


def forget_level(model) -> None:
    """Take away what two samples cannot tell: the class prior and the label frequency."""
    model.class_prior_ = model.label_frequency_ = model.mean_probability_ = float("nan")
    range_only(model, (0.0, 1.0))
    model.certainty_ = "not at all"


def nothing_to_tell_apart(model, label_share: float) -> None:
    """Every column is a propensity attribute: any class prior explains the labels."""
    range_only(model, (label_share, 1.0))
    model.certainty_ = "not at all"


def range_only(model, found: tuple[float, float]) -> None:
    """The learner's own range, where there is no second look."""
    low, high = float(found[0]), float(found[1])
    model.class_prior_range_, model.identification_width_ = (low, high), high - low
    model.certainty_, model.goodness_ = certainty(high - low, 1.0), {}


def _store(model, seen: Examination) -> None:
    prior, average = float(model.class_prior_), seen.average
    # The share among the rows given varies by chance besides.
    deviation = float(np.hypot(average.deviation, seen.chance))
    admitted = [one.class_prior for one in seen.strong_driver.values()]
    ends = [average.class_prior + side * REACH * deviation for side in (-1, 1)]
    low, high = min([*ends, *admitted, prior]), max([*ends, *admitted, prior])
    # Never below the share of labels, which are positives, nor above 1.
    low, high = max(low, min(seen.label_share, prior)), min(high, 1.0)
    if len(seen.leaks[0]):  # positives that are hidden look like negatives: they may be many
        high = 1.0
    model.class_prior_range_ = (low, high)
    model.identification_width_ = high - low
    width = 2 * REACH * centred_deviation(deviation, prior - average.class_prior)
    model.certainty_ = certainty(width, seen.sure)
    if len(seen.leaks[0]):
        model.certainty_ = "not at all"
    elif (seen.misfits or seen.strong_driver) and model.certainty_ != "not at all":
        model.certainty_ = "only by the model's shape"
    model.goodness_ = {
        "misfit": seen.misfit,
        "gain": seen.gain,
        "sure": seen.sure,
        "shape_free_low": max(prior * seen.propensity_top, 0.0),
        "shape_free_high": min(prior / max(seen.sure, 1e-9), 1.0),
        "propensity_effect": seen.propensity_effect,
        "extreme_propensity_share": seen.extreme,
    }


def centred_deviation(deviation: float, off: float) -> float:
    """The standard error of an estimate without bias that is as often off by more than ``BAD``.

    ``off`` is the bias that other estimates see.
    """
    chance = ndtr((off - BAD) / deviation) + ndtr((-BAD - off) / deviation)
    return float(-BAD / ndtri(chance / 2)) if chance < 1 else np.inf


def certainty(width: float, sure: float) -> str:
    """How far the labels pin the class prior down, in a word."""
    if width > WIDE:
        return "not at all"
    if sure < SURE:
        return "only by the model's shape"
    return "well" if width <= NARROW else "roughly"


def _tell(model, seen: Examination, names: Sequence[str]) -> None:
    prior, (low, high) = float(model.class_prior_), model.class_prior_range_
    leaks, areas = seen.leaks
    if len(leaks):  # nothing else can be said of such a fit
        warn(LeakageWarning([names[j] for j in leaks], float(areas[0])))
        return
    slope = float(getattr(model, "slope_", 1.0))
    if seen.swapped(slope):
        warn(SwapWarning(slope, seen.propensity_effect))
    if model.certainty_ == "not at all":
        warn(UnidentifiedWarning(prior, low, high))
    elif seen.sure < SURE:
        bounds = (model.goodness_["shape_free_low"], model.goodness_["shape_free_high"])
        warn(ShapeWarning(prior, *bounds))
    if seen.drivers:
        first = seen.drivers[0]
        strong = seen.strong_driver.get(first)
        reported, z = [names[j] for j in seen.drivers], float(seen.driver_z[first])
        warn(UnnamedDriverWarning(reported, z, None if strong is None else strong.class_prior))
    if seen.misfits:
        nonlinear = [names[j] for j in _largest(seen.nonlinear_z, NONLINEAR)]
        linear = hasattr(model, "coef_")
        warn(MisfitWarning(seen.misfit, seen.gain, nonlinear, flexible=not linear))


def _dense(X, columns) -> np.ndarray:
    part = X[:, columns]
    return part.toarray() if hasattr(part, "toarray") else np.asarray(part, dtype=float)


def _largest(z: np.ndarray, least: float) -> np.ndarray:
    order = np.argsort(-np.abs(z), kind="stable")
    return order[np.abs(z[order]) > least]


def _names(model, n_columns: int) -> Sequence[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != n_columns:
        return [f"x{j}" for j in range(n_columns)]
    return list(names)
