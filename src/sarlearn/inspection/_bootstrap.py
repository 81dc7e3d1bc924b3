"""How sure are the estimates? Bootstrap intervals, in words, as a table, drawn."""

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone

from sarlearn._compat import safe_indexing
from sarlearn._validation import check_groups
from sarlearn._view.draw import draw_band, draw_intervals
from sarlearn._view.parts import FEW_VALUES, take_apart, value_text
from sarlearn._view.refits import check_count, generators, run_all
from sarlearn._view.style import new_axes, panels, shorten
from sarlearn.classifiers import SARClassifier, SAREMClassifier

__all__ = ["BootstrapResult", "bootstrap"]

# Groups of rows left out in turn, for the acceleration of BCa: so many at most, and per resample.
# It falls with the root of the number of rows: of more than so many it is taken as 0, which is
# nearer than what groups tell.
JACKKNIFE_GROUPS, GROUPS_PER_RESAMPLE, MOST_UNITS = 50, 0.5, 500
MAX_CATEGORIES, CURVE_POINTS = 12, 20


@dataclass
class BootstrapResult:
    """What :func:`bootstrap` found; ``print`` gives the main intervals in words.

    Attributes
    ----------
    estimates : dict of str to ndarray
        ``class_prior``, ``label_frequency``; ``coef``, ``odds_ratio``, ``propensity_coef`` and
        ``propensity_odds_ratio`` where the models are logistic (intercepts last);
        ``propensity_curve``; ``probability`` and ``propensity`` at the rows asked for.
    resamples : dict of str to ndarray of shape (n_resamples, ...)
        The same, of every refit.
    curve_points : list of (feature, value)
        Where ``propensity_curve`` was computed, in the units of the table; other columns are at
        their mean.
    feature_names, propensity_names : list of str
        Names of the coefficients of the two models.
    n_not_converged : int
        Number of refits that ran out of iterations.
    decay : float
        Of the model; below 1 intervals show the spread, not the shift that the decay brings.

    See Also
    --------
    bootstrap : Confidence intervals from resampled rows.
    """

    estimates: dict[str, np.ndarray]
    resamples: dict[str, np.ndarray] = field(repr=False)
    curve_points: list[tuple[str, float | str]] = field(repr=False)
    feature_names: list[str] = field(repr=False)
    propensity_names: list[str] = field(repr=False)
    n_not_converged: int
    decay: float
    _acceleration: dict[str, np.ndarray] = field(repr=False)

    @property
    def n_resamples(self) -> int:
        return len(self.resamples["class_prior"])

    def interval(self, name: str, *, level: float = 0.95, method: str = "bca"):
        """Ends of the interval of an estimate, as arrays of its shape.

        Parameters
        ----------
        name : str
            A key of ``estimates``.
        level : float in (0, 1), default=0.95
            Share of the resampled estimates between the ends.
        method : {"bca", "percentile"}, default="bca"
            BCa corrects percentiles for bias and skewness (Efron, JASA 82, 1987).

        Returns
        -------
        low, high : ndarray
            The ends, of the shape of the estimate.
        """
        if name not in self.estimates:
            raise ValueError(
                f"There is no estimate {name!r}; there are {', '.join(self.estimates)}."
            )
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        if method not in ("bca", "percentile"):
            raise ValueError(f"method is 'bca' or 'percentile'; got {method!r}.")
        drawn = self.resamples[name].reshape(self.n_resamples, -1)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        if method == "percentile":
            ends = np.quantile(drawn, tails, axis=0)
        else:
            estimate = np.ravel(self.estimates[name])
            below = np.mean(drawn < estimate, axis=0) + np.mean(drawn == estimate, axis=0) / 2
            margin = 0.5 / self.n_resamples
            z0 = norm.ppf(np.clip(below, margin, 1 - margin))
            a = np.ravel(self._acceleration[name])
            z = z0 + norm.ppf(tails)[:, None]
            adjusted = norm.cdf(z0 + z / (1 - a * z))
            ends = np.array(
                [
                    [np.quantile(column, level) for column, level in zip(drawn.T, row, strict=True)]
                    for row in adjusted
                ]
            )
        shape = np.shape(self.estimates[name])
        return ends[0].reshape(shape), ends[1].reshape(shape)

    def __str__(self) -> str:
        lines = [
            f"{name.capitalize()}: {value:.1%}, between {low:.1%} and {high:.1%}."
            for name, value, low, high in self._shares()
        ]
        lines += [self._ends_in_words(feature) for feature in self._features()]
        failed = f", {self.n_not_converged} not converged" if self.n_not_converged else ""
        lines.append(
            f"95% intervals (BCa) from {self.n_resamples} resamples{failed}. They count chance in "
            "the rows; class_prior_range_ also counts what a model may get wrong."
        )
        if self.decay < 1:
            lines.append(
                f"decay = {self.decay:g} shifts the estimates; the intervals say how much they "
                "vary, not how far they are off. decay=1 with stop='fixed_point' has no such shift."
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _features(self) -> list[str]:
        """The propensity attributes, as the user knows them."""
        return list(dict.fromkeys(feature for feature, _ in self.curve_points))

    def _ends_in_words(self, feature: str) -> str:
        """Where along an attribute the chance of a label is least, and where it is greatest."""
        low, high = self.interval("propensity_curve")
        curve = self.estimates["propensity_curve"]
        here = [i for i, (name, _) in enumerate(self.curve_points) if name == feature]
        least, most = min(here, key=lambda i: curve[i]), max(here, key=lambda i: curve[i])

        def chance(i: int) -> str:
            value = value_text(self.curve_points[i][1])
            return f"{value}: {curve[i]:.0%} ({low[i]:.0%} to {high[i]:.0%})"

        return (
            f"Chance that a positive is labelled, least where {feature} is {chance(least)}, and "
            f"greatest where it is {chance(most)}."
        )

    def _shares(self) -> list[tuple[str, float, float, float]]:
        names = {
            "class_prior": "share of positives",
            "label_frequency": "positives that are labelled",
        }
        found = []
        for key, name in names.items():
            low, high = self.interval(key)
            found.append((name, float(self.estimates[key]), float(low), float(high)))
        return found

    def plot(self, ax=None):
        """Draw class prior and label frequency, then the propensity by each attribute.

        Every panel has the 95% intervals; numbers are in the units of the table.

        Takes the place of ``ax``, or a new figure; returns the axes, one for the two shares and
        one for each propensity attribute.
        """
        features = self._features()
        ax = new_axes(ax, 1.4 + 2.2 * len(features))
        drawn = panels(ax, [1.0, *[2.2] * len(features)])
        draw_intervals(drawn[0], self._shares(), "share, with its 95% interval")
        low, high = self.interval("propensity_curve")
        for panel, feature in zip(drawn[1:], features, strict=True):
            here = [i for i, (name, _) in enumerate(self.curve_points) if name == feature]
            values = [self.curve_points[i][1] for i in here]
            curve = self.estimates["propensity_curve"]
            if len(values) > FEW_VALUES and not isinstance(values[0], str):
                words = {"x_label": shorten(feature, 40), "y_label": "chance of a label"}
                draw_band(panel, values, curve[here], low[here], high[here], **words)
                continue
            rows = [
                (f"{feature} = {value_text(self.curve_points[i][1])}", curve[i], low[i], high[i])
                for i in sorted(here, key=lambda i: -curve[i])
            ]
            draw_intervals(panel, rows, "chance that a positive is labelled")
        return drawn


def bootstrap(
    model,
    X,
    s,
    *,
    n_resamples: int = 200,
    rows=None,
    groups=None,
    n_jobs: int | None = None,
    random_state=None,
) -> BootstrapResult:
    """Confidence intervals for what a fitted model says, from refits to resampled rows.

    Rows are drawn with replacement and the model is fitted again. Each quantity gets the percentile
    interval and the bias-corrected, accelerated one (BCa; its acceleration comes from leaving out
    groups of rows in turn, for up to 500 rows or groups, above which it is too small to matter).

    **Assumption.** Rows are independent, and the model is right: an interval says how much the
    estimate would vary with other rows, not how far a wrong propensity, a wrong class model or a
    ``decay`` below 1 shifts it. With ``decay=0.9`` the intervals of SAR-EM are narrow and lie
    beside the truth.

    Refits of :class:`~sarlearn.SARClassifier` keep what the fit chose by held-out labels (the
    penalty, rounds of boosting and where they begin) and give trees fewer bins, which saves most of
    the time; they hold out the rows of a group together, and rows that were drawn twice. Steps of a
    pipeline before the last stay as they were fitted.

    Parameters
    ----------
    model : fitted SAREMClassifier, or a pipeline that ends in one
        Other learners with ``predict_propensity`` serve too.
    X, s : the data that it was fitted to
        Rows and labels.
    n_resamples : int >= 20, default=200
        Number of refits. Of up to 500 rows half as many again, at most 50, tell the skewness.
    rows : table or matrix, default=None
        Rows like ``X`` at which ``f(x)`` and ``e(x)`` get intervals.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group, such as visits of one patient, are drawn together: they are not
        independent, the groups are.
    n_jobs : int or None, default=None
        Processes; -1 is one per core.
    random_state : int, Generator or None
        Seed of what is drawn.

    Returns
    -------
    BootstrapResult
        Print it, or take its ``interval(name)``, ``plot()``.

    See Also
    --------
    sensitivity : The class prior if every propensity were off by a factor.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.inspection import bootstrap
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = rng.random(400) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(400) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2], decay=1, C=100, stop="fixed_point").fit(X, s)
    >>> result = bootstrap(model, X, s, n_resamples=30, random_state=0)
    >>> low, high = result.interval("class_prior")
    >>> bool(low < y.mean() < high)
    True
    """
    n_resamples = check_count(n_resamples, "n_resamples", 20)
    parts = take_apart(model, X)
    labelled = parts.labelled(s)
    new = None if rows is None else take_apart(model, rows).matrix
    probe = _Probe(parts, new)
    groups = check_groups(groups, parts.n_rows)
    first, *draws = generators(random_state, n_resamples + 1)
    units = np.arange(parts.n_rows) if groups is None else groups
    n_units = int(units.max()) + 1
    drawn = [draw.multinomial(n_units, np.full(n_units, 1 / n_units)) for draw in draws]
    n_groups = min(JACKKNIFE_GROUPS, int(GROUPS_PER_RESAMPLE * n_resamples), n_units)
    if n_units <= MOST_UNITS:
        group = first.permutation(np.arange(n_units) % n_groups)
        drawn += [(group != left_out).astype(np.int64) for left_out in range(n_groups)]
    refit = _Refit(parts, labelled, groups, for_rows=new is not None)
    found = run_all(partial(_quantities, refit, probe, units), drawn, n_jobs, "Bootstrap")
    estimates = probe.quantities(parts.final)
    stacked = {name: np.array([q[name] for q, _ in found]) for name in estimates}
    return BootstrapResult(
        estimates=estimates,
        resamples={name: values[:n_resamples] for name, values in stacked.items()},
        curve_points=probe.curve_points,
        feature_names=parts.names,
        propensity_names=_propensity_names(parts),
        n_not_converged=sum(not converged for _, converged in found[:n_resamples]),
        decay=float(getattr(parts.final, "decay", 1.0)),
        _acceleration={name: _acceleration(all_[n_resamples:]) for name, all_ in stacked.items()},
    )


def _propensity_names(parts) -> list[str]:
    names = [parts.names[j] for j in parts.propensity_positions]
    return list(getattr(parts.final, "propensity_terms_", names))


def _column_means(matrix) -> np.ndarray:
    if not sparse.issparse(matrix):  # a data frame of any library, or an array
        matrix = np.asarray(matrix, dtype=np.float64)
    return np.asarray(matrix.mean(axis=0)).ravel()


class _Probe:
    """What is read off a fitted model: its numbers, and its predictions at chosen rows."""

    def __init__(self, parts, new):
        self._new = new
        # Refits with "auto" name columns of their own, so that coefficients do not correspond.
        self._coefs = ("coef",) if parts.auto else ("coef", "propensity_coef")
        base = _column_means(parts.matrix)
        points: list[np.ndarray] = []
        self.curve_points: list[tuple[str, float | str]] = []
        for attribute in parts.propensity_attributes:
            values = attribute.distinct[:MAX_CATEGORIES]
            if attribute.is_curve:
                between = np.linspace(0.01, 0.99, CURVE_POINTS)
                values = np.unique(np.nanquantile(attribute.values, between))
            for value, block in zip(values, attribute.encode(values), strict=True):
                point = np.array(base, dtype=np.float64)
                point[attribute.positions] = block
                points.append(point)
                shown = float(value) if attribute.numeric else str(value)
                self.curve_points.append((attribute.name, shown))
        self._points = parts.like_matrix(np.array(points)) if points else None

    def quantities(self, model) -> dict[str, np.ndarray]:
        found: dict[str, Any] = {
            "class_prior": model.class_prior_,
            "label_frequency": model.label_frequency_,
        }
        for name in self._coefs:
            if hasattr(model, f"{name}_"):
                intercept = getattr(model, f"{name.replace('coef', 'intercept')}_")
                found[name] = np.append(getattr(model, f"{name}_")[0], intercept)
                found[name.replace("coef", "odds_ratio")] = np.exp(found[name])
        curve = np.empty(0) if self._points is None else model.predict_propensity(self._points)
        found["propensity_curve"] = curve
        if self._new is not None:
            found["probability"] = model.predict_proba(self._new)[:, 1]
            found["propensity"] = model.predict_propensity(self._new)
        return {name: np.asarray(value, dtype=np.float64) for name, value in found.items()}


class _Refit:
    """Refits by ``fit`` itself, on the rows drawn."""

    def __init__(self, parts, labelled, groups=None, for_rows: bool = True):
        self._model, self._X = clone(parts.final), parts.matrix
        holds_out = isinstance(parts.final, SARClassifier)
        self._groups = groups if holds_out else None
        self._chosen = None
        if holds_out and not parts.auto:  # whose fits name columns of their own: no one choice
            self._chosen = replace(parts.final.choices_, for_rows=for_rows)
        # These do not tell a row of weight two from two rows; each is then looked at once, which
        # saves a quarter of the time.
        logistic = hasattr(parts.final, "coef_") and hasattr(parts.final, "propensity_coef_")
        self._by_weight = holds_out or (isinstance(parts.final, SAREMClassifier) and logistic)
        self._s = parts.final.classes_[labelled.astype(int)]

    def __call__(self, counts: np.ndarray):
        weight = {}
        if self._by_weight:
            rows = np.flatnonzero(counts)
            weight["sample_weight"] = counts[rows].astype(np.float64)
        else:
            rows = np.repeat(np.arange(len(counts)), counts)
        if self._groups is not None:
            weight["groups"] = self._groups[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what one fit would say two hundred times
            model = clone(self._model)
            model._chosen = self._chosen
            model.fit(safe_indexing(self._X, rows), self._s[rows], **weight)
        return model, bool(getattr(model, "converged_", True))


def _quantities(refit, probe: _Probe, units, drawn) -> tuple[dict[str, np.ndarray], bool]:
    model, converged = refit(drawn[units])
    return probe.quantities(model), converged


def _acceleration(left_out: np.ndarray) -> np.ndarray:
    """A sixth of the skewness of the groups' influences; 0 where none was left out."""
    if not len(left_out):
        return np.zeros(left_out.shape[1:])
    influence = left_out.mean(axis=0) - left_out
    spread = np.sum(influence**2, axis=0) ** 1.5
    return np.divide(
        np.sum(influence**3, axis=0), 6 * spread, out=np.zeros_like(spread), where=spread > 0
    )
