"""Does the model explain the labels? Observed against expected, and what would explain more."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.label_model import LabelModel, Penalties
from sarlearn._engine.likelihood import label_odds, label_residual, sigmoids
from sarlearn._engine.terms import Terms, leaking
from sarlearn._validation import check_groups
from sarlearn._view.parts import Parts, take_apart
from sarlearn._view.style import BLUE, MUTED, ORANGE, new_axes, panels, tidy
from sarlearn._words import leak_sentence, listed

__all__ = ["GoodnessOfFit", "goodness_of_fit"]

# Score statistics above these are reported: of a column in the propensity, and of its square in the
# class; and a standardised misfit above this.
DRIVER, NONLINEAR, MISFIT = 4.5, 7.0, 5.0
# Score tests look at so many rows, however many there are.
MAX_ROWS = 2000
# Labels expected in a stratum may be wrong by this share before it counts: with millions of rows
# every model is refuted, and few of them matter. Strata with less variance say nothing.
TOLERANCE, LEAST_VARIANCE = 0.05, 0.5
# Strata of the misfit: quantiles of the class probability by quantiles of the propensity.
N_PROBABILITIES, N_PROPENSITIES = 6, 4
# A column carried by fewer rows than this, weighted by what they tell, is not tested; and
# standardised columns are cut before they are squared: the test is of curvature, not of outliers.
LEAST_ROWS, CUT = 20, 4.0
# On slopes of the label model, in standardised terms: hardly any.
RIDGE = 1e-2


@dataclass
class GoodnessOfFit:
    """What :func:`goodness_of_fit` found; ``print`` gives it in words.

    Attributes
    ----------
    misfit : float
        Squared differences of observed and expected labels over strata of score and propensity,
        standardised: 0 on average where the model is right.
    by_score, by_propensity : dict of str to ndarray
        For deciles of the class probability, and for levels of the propensity: ``rows``,
        ``observed`` and ``expected`` labels, and the mean ``probability`` and ``propensity``.
    drivers : dict of str to float
        Columns that were not named and that labelling seems to follow, with their statistic.
    nonlinear : dict of str to float
        Columns whose squares the class model seems to lack, with their statistic.
    leaks : list of str
        Columns that give the label away.
    flexible : bool
        Whether the class model is flexible already, so that no better form of it is advised.

    See Also
    --------
    goodness_of_fit : Compare the labels with what the model expects.
    """

    misfit: float
    by_score: dict[str, np.ndarray] = field(repr=False)
    by_propensity: dict[str, np.ndarray] = field(repr=False)
    drivers: dict[str, float]
    nonlinear: dict[str, float]
    leaks: list[str]
    flexible: bool = False

    @property
    def problems(self) -> list[str]:
        """What speaks against the model, one sentence each; empty where nothing does."""
        return list(self.problems_by_kind.values())

    @property
    def problems_by_kind(self) -> dict[str, str]:
        """The same by kind: ``misfit``, ``nonlinear``, ``drivers`` and ``leaks``."""
        found = {}
        if self.misfit > MISFIT:
            worst = self._worst()
            remedy = (
                "Add columns that tell the classes apart, or name a driver of labelling."
                if self.flexible
                else "Transform skewed columns, or use SARClassifier, which has trees."
            )
            found["misfit"] = (
                f"Labels are not where the model expects them (misfit {self.misfit:.1f}): {worst} "
                f"{remedy}"
            )
        if self.nonlinear:
            found["nonlinear"] = (
                f"The class does not seem to be linear in {listed(list(self.nonlinear)[:3])}: use "
                "SARClassifier, which has trees, or add their squares."
            )
        if self.drivers:
            found["drivers"] = (
                f"Labelling also seems to follow {listed(list(self.drivers)[:3])}: name what can "
                "decide who gets labelled as propensity features."
            )
        if self.leaks:
            found["leaks"] = leak_sentence(self.leaks)
        return found

    def _worst(self) -> str:
        table = self.by_score
        off = np.abs(table["observed"] - table["expected"])
        row = int(np.argmax(off / np.sqrt(table["expected"] + 1)))
        return (
            f"of rows with a class probability about {table['probability'][row]:.0%}, "
            f"{table['observed'][row]:.0f} are labelled and {table['expected'][row]:.0f} expected."
        )

    def __str__(self) -> str:
        return " ".join(self.problems) or "Nothing in the labels contradicts the model."

    __repr__ = __str__

    def plot(self, axes=None):
        """Draw observed and expected labels by decile of ``f`` and level of ``e``, on two axes."""
        axes = panels(new_axes(None, 3.4), [1.0, 1.0], columns=2) if axes is None else axes
        _bars(axes[0], self.by_score, "probability", "class probability")
        _bars(axes[1], self.by_propensity, "propensity", "propensity")
        axes[0].set_ylabel("labelled rows")
        axes[0].legend(frameon=False)
        return axes


def _bars(ax, table: dict[str, np.ndarray], key: str, words: str) -> None:
    place, reach = np.arange(len(table[key])), 1.96 * np.sqrt(table["variance"])
    ax.bar(place, table["observed"], color=BLUE, alpha=0.75, width=0.7, label="observed")
    marks = {"color": ORANGE, "markersize": 4, "capsize": 2, "label": "expected, 95%"}
    ax.errorbar(place, table["expected"], yerr=reach, fmt="D", **marks)
    ax.set_xlabel(words)
    ax.set_xticks(place, [f"{value:.0%}" for value in table[key]])
    ax.tick_params(axis="x", labelsize=7, labelcolor=MUTED)
    tidy(ax)


def goodness_of_fit(model, X, s, *, n_bins: int = 10, groups=None) -> GoodnessOfFit:
    r"""Compare the labels with what the model expects, and look for what it misses.

    :math:`P(s=1|x) = f(x)\,e(x)` can be compared with the labels although the true classes are
    unknown. Observed and expected labels are compared over strata of ``f`` and ``e``; score tests
    ask whether a column that was not named belongs in ``e``, and whether a linear ``f`` lacks a
    square; and each column alone is asked whether it gives the label away.

    **What it cannot see.** A good fit does not show that class and propensity are separated
    correctly: a driver of labelling that the class model absorbs fits as well, and so does another
    level of the propensity where no row is surely positive.

    Parameters
    ----------
    model : fitted learner with ``predict_propensity``, or a pipeline that ends in one
        The model to look at.
    X, s : the data that it was fitted to
        Rows and labels.
    n_bins : int, default=10
        Quantiles of the class probability that are shown.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group, such as visits of one patient, may be labelled together: what their labels
        differ from the expected counts as one difference.

    Returns
    -------
    GoodnessOfFit
        Print it, or take its figures and ``plot()``.

    See Also
    --------
    relative_prevalence : Compare groups; needs no class prior.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.inspection import goodness_of_fit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-6 * X[:, 0] - X[:, 1]))
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> goodness_of_fit(SAREMClassifier([2]).fit(X, s), X, s).problems
    []
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> found = goodness_of_fit(SAREMClassifier().fit(X, s), X, s)  # column 2 is not named
    >>> next(iter(found.drivers))
    'x2'
    """
    parts = take_apart(model, X)
    return goodness_of(parts, parts.labelled(s), n_bins, check_groups(groups, parts.n_rows))


def goodness_of(parts: Parts, labelled, n_bins: int = 10, groups=None) -> GoodnessOfFit:
    """The same of a model taken apart."""
    found = parts.probability(), parts.propensity(), labelled
    rows = sample_rows(labelled)
    terms, names = _terms(parts, rows)
    Z, labelled = terms.transform(parts.rows(rows)), labelled[rows]
    driver_z, nonlinear_z = _score_tests(parts, Z, terms.column, labelled, rows, groups)
    return GoodnessOfFit(
        misfit=misfit(strata(*found, N_PROBABILITIES, N_PROPENSITIES, groups)),
        by_score=strata(*found, n_bins, 1, groups),
        by_propensity=strata(*found, 1, 5, groups),
        drivers=_named(names, driver_z, DRIVER),
        nonlinear=_named(names, nonlinear_z, NONLINEAR),
        leaks=list(dict.fromkeys(names[j] for j in leaking(Z, labelled))),
        flexible=not hasattr(parts.final, "coef_"),
    )


def strata(
    f, e, labelled, n_probabilities: int, n_propensities: int, groups=None
) -> dict[str, np.ndarray]:
    """Labels observed and expected by quantiles of ``f`` and of ``e``; no stratum is empty.

    Rows of a group may be labelled together: variances are larger by as much as sums over groups
    vary more than those of single rows would.
    """
    place = _quantile(f, n_probabilities) * n_propensities + _quantile(e, n_propensities)
    _, code, rows = np.unique(place, return_inverse=True, return_counts=True)
    chance = f * e
    variance = np.bincount(code, chance * (1 - chance))
    if groups is not None:
        _, which = np.unique(groups * len(rows) + code, return_inverse=True)
        squares = np.bincount(which, labelled - chance) ** 2
        variance *= max(squares.sum() / variance.sum(), 1.0)
    return {
        "rows": rows,
        "observed": np.bincount(code, labelled),
        "expected": np.bincount(code, chance),
        "variance": variance,
        "probability": np.bincount(code, f) / rows,
        "propensity": np.bincount(code, e) / rows,
    }


def _quantile(values: np.ndarray, n: int) -> np.ndarray:
    """In which of ``n`` quantiles each value lies; equal values lie in one."""
    inner = np.quantile(values, np.arange(1, n) / n, method="lower")
    return np.searchsorted(np.unique(inner), values, side="left")


def misfit(table: dict[str, np.ndarray]) -> float:
    """Squared differences of observed and expected labels, standardised: 0 on average, and above 2
    in few samples from the model itself."""
    some = table["variance"] > LEAST_VARIANCE
    if not some.any():
        return 0.0
    observed, expected, variance = (
        table[name][some] for name in ("observed", "expected", "variance")
    )
    squares = (observed - expected) ** 2 / (variance + (TOLERANCE * expected) ** 2)
    return float((squares.sum() - len(squares)) / np.sqrt(2 * len(squares)))


def score_tests(
    eta, zeta, labelled, attributes, tried, *, of_class: bool, groups=None
) -> np.ndarray:
    """Whether columns belong into the logit of ``f`` (``of_class``) or of ``e``.

    Each gets a number that is standard normal where the column has nothing to add. The design is
    that of the label model: the score and an intercept in ``f``, the propensity attributes and an
    intercept in ``e``. With ``P = f e``, a column ``z`` enters the likelihood's gradient as
    ``r (1-f) z`` or ``r (1-e) z``, ``r`` being 1 where labelled and ``-P/(1-P)`` elsewhere, and its
    information as the square with weight ``P/(1-P)``; of both, what the design explains is left
    out. Zero where that leaves nothing, or where so few rows carry the column that nothing is
    normal about it. With ``groups`` the variance is that of their sums, where it is more.
    """
    (f, not_f), (e, not_e) = sigmoids(np.asarray(eta)), sigmoids(np.asarray(zeta))
    odds = label_odds(f, not_f, e, not_e)
    residual = label_residual(odds, labelled)
    ones = np.ones((len(f), 1))
    design = np.hstack([np.asarray(eta)[:, None], ones, attributes, ones])
    design[:, :2] *= not_f[:, None]
    design[:, 2:] *= not_e[:, None]
    columns = tried * (not_f if of_class else not_e)[:, None]
    weighted = design * odds[:, None]
    of_design, cross = weighted.T @ design, weighted.T @ columns
    scale = 1 / np.sqrt(np.maximum(of_design.diagonal(), 1e-300))
    inverse = np.linalg.pinv(of_design * scale * scale[:, None], rcond=1e-10)
    projection = scale[:, None] * (inverse @ (cross * scale[:, None]))
    information = odds @ columns**2
    left = information - np.einsum("ij,ij->j", cross, projection)
    gradients = residual[:, None] * (columns - design @ projection)
    many = information**2 > LEAST_ROWS * (odds**2 @ columns**4)
    new = many & (left > 1e-6 * information)
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        sums = np.zeros((group.max() + 1, gradients.shape[1]))
        np.add.at(sums, group, gradients)
        left = np.maximum(left, (sums**2).sum(axis=0))
    return np.where(new, gradients.sum(axis=0) / np.sqrt(np.where(new, left, 1.0)), 0.0)


def sample_rows(labelled: np.ndarray, most: int = MAX_ROWS) -> np.ndarray:
    """Numbers of rows spread evenly over labelled and unlabelled ones, in their proportion."""
    if len(labelled) <= most:
        return np.arange(len(labelled))
    order = np.argsort(labelled, kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, most).astype(np.intp)])


def _terms(parts: Parts, rows: np.ndarray) -> tuple[Terms, list[str]]:
    """Every column as standardised terms without gaps, and the attribute that each is of."""
    X = parts.rows(rows)
    terms = Terms.learn(X, np.arange(X.shape[1]), list(parts.levels))
    attribute_of = {j: each.name for each in parts.attributes for j in each.positions.tolist()}
    return terms, [attribute_of.get(j, parts.names[j]) for j in terms.column.tolist()]


def _score_tests(parts: Parts, Z, column, labelled, rows, groups):
    """Statistics of each term in the propensity, and of its square in a linear class model.

    Score tests ask for a maximum of the likelihood, where a decayed fit is not: intercepts, the
    slope of the class logit and the propensity move there first.
    """
    of_propensity = np.isin(column, parts.propensity_positions)
    eta = logit(np.clip(parts.probability()[rows], 1e-9, 1 - 1e-9))
    B = Z[:, of_propensity]
    scored = RowBlocks(eta[:, None]).attach(score=eta[:, None], Xe=B, labelled=labelled)
    labels = LabelModel(scored, Penalties(RIDGE, towards=1.0, ridge_e=RIDGE), positive=True)
    found = labels.fit(labels.start())
    eta = found.weights[0] * eta + found.intercept
    at = eta, B @ found.phi[:-1] + found.phi[-1], labelled, B
    groups = None if groups is None else groups[rows]
    driver_z, nonlinear_z = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    driver_z[~of_propensity] = score_tests(*at, Z[:, ~of_propensity], of_class=False, groups=groups)
    if hasattr(parts.final, "coef_"):
        squares = np.clip(Z, -CUT, CUT) ** 2
        nonlinear_z = score_tests(*at, squares, of_class=True, groups=groups)
    return driver_z, nonlinear_z


def _named(names, z: np.ndarray, least: float) -> dict[str, float]:
    order = np.argsort(np.abs(z), kind="stable")  # the largest of a column counts
    found = {names[j]: float(z[j]) for j in order if abs(z[j]) > least}
    return dict(sorted(found.items(), key=lambda pair: -abs(pair[1])))
