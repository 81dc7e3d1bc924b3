"""Is the answer identified? Other maxima, exchanged roles, information, overlap, certainty."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from scipy.special import logit

from sarlearn._engine.joint import JointFit, JointLogistic
from sarlearn._engine.label_model import PROFILE_DROP, LabelModel
from sarlearn._engine.magnitudes import moderate
from sarlearn._validation import check_array
from sarlearn._view.draw import BELOW, draw_maxima, maxima_together
from sarlearn._view.html import ShownInNotebooks
from sarlearn._view.inputs import check_count, generators
from sarlearn._view.parts import Parts, take_apart
from sarlearn._view.style import GREEN, ORANGE, as_number, as_percent, new_axes, tidy
from sarlearn.classifiers import BoostedSARClassifier, CrossFitSARClassifier, SAREMClassifier
from sarlearn.exceptions import SarlearnWarning

__all__ = ["IdentifiabilityResult", "identifiability"]

# A range of class priors the labels admit that is wider than this is a warning: well above that of
# good estimates, below that of data on which no method found the class prior.
WIDE = 0.2
CERTAIN = 0.95
# Directions of the scaled information with less curvature than this count as flat.
FLAT = 1e-6
# A class prior this far outside of what is admitted is another answer.
APART = 0.02


@dataclass
class IdentifiabilityResult(ShownInNotebooks):
    """What :func:`identifiability` found; ``print`` gives it in words.

    Attributes
    ----------
    log_likelihood, class_prior : ndarray of shape (n_starts,)
        Penalised log-likelihood reached from each start, best first, and the class prior there.
    plausible_priors : tuple of float
        Least and greatest class prior among the maxima within 1.92 of the best.
    profile : tuple of float
        Class priors that the labels admit with the fitted class score held up to scale (profile
        likelihood within 1.92); in-sample, so rather too narrow.
    swap_gap, swap_class_prior : float
        How far below the best the maximum next to exchanged roles of ``f`` and ``e`` is, and its
        class prior; NaN without propensity attributes.
    rank, n_parameters : int
        Directions of parameters in which the likelihood curves, and all of them.
    redundant : int
        Directions that are flat because columns depend on each other linearly, as one column per
        value of a category does: no prediction moves along them.
    condition : float
        Of the observed information, scaled to a diagonal of ones; inf where it is singular.
    overlap : float
        Share of the class score's variance that the propensity attributes explain linearly.
    strata, certain_share : list of str, ndarray
        Strata of rising propensity, and the share of rows in each with ``f`` above 0.95.
    model_class_prior : float
        What the model that was given holds; its decay, penalty or cross-fit may put it elsewhere
        than maximum likelihood does.

    See Also
    --------
    identifiability : Look for other answers that the labels admit as well.
    """

    log_likelihood: np.ndarray = field(repr=False)
    class_prior: np.ndarray = field(repr=False)
    plausible_priors: tuple[float, float]
    profile: tuple[float, float]
    swap_gap: float
    swap_class_prior: float
    rank: int
    n_parameters: int
    redundant: int
    condition: float
    overlap: float
    strata: list[str] = field(repr=False)
    certain_share: np.ndarray = field(repr=False)
    model_class_prior: float

    @property
    def admitted(self) -> tuple[float, float]:
        """Least and greatest class prior of the maxima and of the profile together."""
        return (
            min(self.plausible_priors[0], self.profile[0]),
            max(self.plausible_priors[1], self.profile[1]),
        )

    @property
    def identified(self) -> bool:
        """Whether nothing speaks against it: not a proof."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """What speaks against identification, one sentence each."""
        found = []
        low, high = self.admitted
        if not low - APART <= self.model_class_prior <= high + APART:
            found.append(
                f"The model given holds {self.model_class_prior:.1%}, outside of the {low:.1%} to "
                f"{high:.1%} that maximum likelihood admits: it is its decay, its penalties or its "
                "other fits that put the class prior there, not the labels alone."
            )
        low, high = self.plausible_priors
        if high - low > 0.02:
            found.append(
                f"Several solutions fit equally well, with {low:.1%} to {high:.1%} positives."
            )
        if self.profile[1] - self.profile[0] > WIDE:
            found.append(
                f"The labels admit class priors from {self.profile[0]:.1%} to "
                f"{self.profile[1]:.1%}: how many positives are hidden is not identified."
            )
        if self.swap_gap < PROFILE_DROP and abs(self.swap_class_prior - self.class_prior[0]) > 0.02:
            found.append(
                "Exchanging the roles of class and propensity fits as well, with "
                f"{self.swap_class_prior:.1%} positives: the data do not say which model is which."
            )
        flat = self.n_parameters - self.rank - self.redundant
        if flat > 0:
            found.append(
                f"The likelihood is flat in {flat} of {self.n_parameters} directions of the "
                "parameters: single coefficients are not identified."
            )
        if self.overlap > 0.9:
            found.append(
                f"The propensity attributes explain {self.overlap:.0%} of the class score: class "
                "and propensity can hardly be told apart."
            )
        bare = int(np.sum(self.certain_share == 0))
        if bare:
            found.append(
                f"In {bare} of {len(self.strata)} strata of the propensity no row is a sure "
                f"positive (f above {CERTAIN}): the propensity there rests on the form of the "
                "models."
            )
        return found

    @property
    def verdict(self) -> str:
        """What speaks against identification, or that nothing does."""
        problems = self.problems
        best = f"{self.class_prior[0]:.1%} positives; the model holds {self.model_class_prior:.1%}"
        if not problems:
            return (
                f"Nothing speaks against identification: {len(self.class_prior)} starts agree on "
                f"{best}. The likelihood curves in every direction that moves a "
                "prediction, exchanged roles fit worse or lead back, and every stratum of the "
                "propensity has sure positives."
            )
        return f"Best solution: {best}. " + " ".join(problems)

    def __str__(self) -> str:
        if not self.redundant:
            return self.verdict
        return (
            f"{self.verdict} The likelihood is flat in {self.redundant} of {self.n_parameters} "
            "directions because columns depend on each other: predictions are not touched by it, "
            "but single coefficients of such columns mean nothing."
        )

    def plot(self, ax=None):
        """Draw the class prior and likelihood that each start reached."""
        ax = new_axes(ax)
        drop = self.log_likelihood[0] - self.log_likelihood
        draw_maxima(ax, self.class_prior, drop, line=PROFILE_DROP, profile=self.profile)
        if self._exchange_differs:
            ax.plot(
                self.swap_class_prior, self.swap_gap, "s", color=ORANGE, label="roles exchanged"
            )
        ax.axvline(self.model_class_prior, color=GREEN, linewidth=1.4, label="the model given")
        ax.set_yscale("symlog", linthresh=1.0)
        ax.set_ylim(max(2 * PROFILE_DROP, 2 * float(drop.max()), 0.0), -0.5)
        as_number(ax.yaxis)
        ax.set_xlim(0, 1)
        as_percent(ax.xaxis)
        ax.set_xlabel("class prior")
        ax.set_ylabel("log-likelihood below the best")
        ax.legend(**BELOW)
        tidy(ax, grid="both")
        return ax

    @property
    def _exchange_differs(self) -> bool:
        """Whether exchanged roles lead to another solution than the best one."""
        return bool(
            np.isfinite(self.swap_gap)
            and (self.swap_gap > 0.1 or abs(self.swap_class_prior - self.class_prior[0]) > 0.01)
        )

    def _table(self):
        drop = self.log_likelihood[0] - self.log_likelihood
        rows = [
            (f"{prior:.1%}", f"{below:.2f}", f"{count} of {len(drop)}")
            for prior, below, count in maxima_together(self.class_prior, drop)
        ]
        if self._exchange_differs:
            rows.append((f"{self.swap_class_prior:.1%}", f"{self.swap_gap:.2f}", "roles exchanged"))
        return ("class prior", "log-likelihood below the best", "found from"), rows


def identifiability(model, X, s, *, n_starts: int = 20, random_state=None) -> IdentifiabilityResult:
    r"""Look for other answers that the labels admit as well.

    Of the likelihood :math:`\ell(f, e) = \sum_i s_i \log f_i e_i + (1 - s_i) \log (1 - f_i e_i)`:
    maxima from random starts; the maximum next to :math:`(e, f)` for :math:`(f, e)`; rank and
    condition of its second derivatives; the class priors within 1.92 of the maximum; how far the
    propensity attributes explain the class; and sure positives in every stratum of the propensity.

    **Assumption.** Both models are logistic, as in the model given, with its penalties; the
    likelihood itself is looked at (``decay=1``) whatever the model's decay. Agreement of starts
    shows one maximum of this likelihood. It cannot show that the form of the models is right,
    and without sure positives identification rests on that form.

    Parameters
    ----------
    model : fitted SAREMClassifier or CrossFitSARClassifier with logistic models, or
        BoostedSARClassifier, or a pipeline that ends in one. Boosted trees count with their logit.
    X, s : the data that it was fitted to
        Rows and labels.
    n_starts : int >= 2, default=20
        Number of starting points of the search for other maxima.
    random_state : int, Generator or None
        Seed of what is drawn.

    Returns
    -------
    IdentifiabilityResult
        Print it, or take its figures and ``plot()``.

    See Also
    --------
    sensitivity : Class prior, label frequency and ranking over other choices than the model's.
    goodness_of_fit : Compare the labels with what the model expects, and look for what it lacks.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.inspection import identifiability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 3))
    >>> y = rng.random(3000) < 1 / (1 + np.exp(-5 * X[:, 0]))
    >>> s = y & (rng.random(3000) < 1 / (1 + np.exp(-X[:, 2])))
    >>> model = SAREMClassifier([2], C=100).fit(X, s)
    >>> print(identifiability(model, X, s, n_starts=5, random_state=0))
    Nothing speaks against identification: 5 starts agree on ...
    """
    n_starts = check_count(n_starts, "n_starts", 2)
    parts = take_apart(model, X)
    final = parts.final
    if isinstance(final, BoostedSARClassifier):
        return _of_boosted(parts, s, n_starts, random_state)
    if not isinstance(final, SAREMClassifier | CrossFitSARClassifier) or not hasattr(
        final, "propensity_coef_"
    ):
        raise TypeError(
            "identifiability needs a SAREMClassifier with logistic propensity, or a "
            f"CrossFitSARClassifier; got {type(final).__name__}."
        )
    if not hasattr(final, "coef_"):
        raise TypeError("identifiability needs a logistic class model (classifier=None).")
    labelled = parts.labelled(s)
    matrix = check_array(parts.matrix, accept_sparse="csr", dtype=np.float64)
    columns = parts.propensity_positions
    C = getattr(final, "C_", final.C)
    joint = JointLogistic(matrix, columns, C=C, propensity_C=final.propensity_C)
    fitted = np.concatenate(
        [final.coef_[0], final.intercept_, final.propensity_coef_[0], final.propensity_intercept_]
    )
    (rng,) = generators(random_state, 1)
    starts = [joint.from_user(fitted)] + _random_starts(joint, labelled, n_starts - 1, rng)
    found = [joint.climb(start, labelled) for start in starts]
    found.sort(key=lambda fit: -fit.value)
    best = found[0]
    priors = np.array([joint.class_prior(fit.parameters) for fit in found])
    values = np.array([fit.value for fit in found])
    near = priors[values > best.value - PROFILE_DROP]
    swap = _exchanged(joint, best, columns, labelled)
    f, e = joint.probabilities(best.parameters)
    score = logit(np.clip(f, 1e-12, 1 - 1e-12))
    chosen = matrix[:, columns]
    attributes = moderate(chosen.toarray() if sparse.issparse(chosen) else chosen)
    strata, codes = _strata(e)
    profile = _profile(score, attributes, labelled)
    rank, condition = _rank(joint.information(best.parameters, labelled, penalised=False))
    return IdentifiabilityResult(
        log_likelihood=values,
        class_prior=priors,
        plausible_priors=(float(near.min()), float(near.max())),
        profile=profile,
        swap_gap=np.nan if swap is None else float(best.value - swap.value),
        swap_class_prior=np.nan if swap is None else joint.class_prior(swap.parameters),
        rank=rank,
        n_parameters=len(best.parameters),
        redundant=_redundant(moderate(matrix)) + _redundant(attributes),
        condition=condition,
        overlap=_explained(score, attributes),
        strata=strata,
        certain_share=np.array(
            [float(np.mean(f[codes == k] > CERTAIN)) for k in range(len(strata))]
        ),
        model_class_prior=float(parts.final.class_prior_),
    )


def _of_boosted(parts: Parts, s, n_starts: int, random_state) -> IdentifiabilityResult:
    """The same question with the trees' logit as a column beside the propensity features.

    The class model is then logistic in that logit and those features; what could be exchanged with
    the propensity, can be so here.
    """
    score = np.clip(parts.held_out_logit(), -14, 14)
    attributes = parts.linear.attributes()
    stand_in = CrossFitSARClassifier(np.arange(1, 1 + attributes.shape[1]), random_state=0)
    matrix = np.column_stack([score, attributes])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SarlearnWarning)  # about the stand-in, not the model
        stand_in.fit(matrix, s)
    found = identifiability(stand_in, matrix, s, n_starts=n_starts, random_state=random_state)
    return replace(found, model_class_prior=float(parts.final.class_prior_))


def _random_starts(joint: JointLogistic, labelled, n_starts: int, rng) -> list[np.ndarray]:
    """Label frequencies all over, the naive class model stretched, propensity slopes at random."""
    naive = joint.naive(labelled)
    starts = []
    for label_frequency in rng.permutation(np.linspace(0.05, 0.95, n_starts)):
        theta = naive.copy()
        theta[:-1] *= rng.uniform(0.3, 2.0) * np.exp(rng.normal(0, 0.3, len(theta) - 1))
        start = joint.start(theta, float(label_frequency), labelled)
        start[joint.n_theta : -1] = rng.normal(0, 0.5, len(start) - joint.n_theta - 1)
        starts.append(start)
    return starts


def _exchanged(joint: JointLogistic, fit: JointFit, columns, labelled) -> JointFit | None:
    """The maximum next to ``f`` with the propensity's coefficients, and the other way round."""
    if not len(columns):
        return None
    theta, phi = np.split(fit.parameters, [joint.n_theta])
    start = np.zeros(len(fit.parameters))
    start[columns], start[joint.n_theta - 1] = phi[:-1], phi[-1]
    start[joint.n_theta : -1], start[-1] = theta[columns], theta[-1]
    return joint.climb(start, labelled)


def _rank(information: np.ndarray) -> tuple[int, float]:
    diagonal = information.diagonal()
    scale = 1 / np.sqrt(np.maximum(np.abs(diagonal), 1e-300))
    values = np.linalg.eigvalsh(information * scale * scale[:, None])
    rank = int(np.sum(values > FLAT))
    return rank, float(values[-1] / values[0]) if values[0] > 0 else np.inf


def _redundant(columns) -> int:
    """Directions in which a linear model with intercept on these columns does not change."""
    n_rows, n_columns = columns.shape
    sums = np.asarray(columns.sum(axis=0)).ravel()
    product = columns.T @ columns
    gram = np.empty((n_columns + 1, n_columns + 1))
    gram[:-1, :-1] = product.toarray() if sparse.issparse(product) else product
    gram[-1, :-1] = gram[:-1, -1] = sums
    gram[-1, -1] = n_rows
    return n_columns + 1 - _rank(gram)[0]


def _profile(score, attributes, labelled) -> tuple[float, float]:
    label_model = LabelModel(score, attributes, labelled)
    found = label_model.profile(label_model.fit())
    return found.low, found.high


def _explained(score: np.ndarray, attributes: np.ndarray) -> float:
    centred = attributes - attributes.mean(axis=0)
    target = score - score.mean()
    total = float(target @ target)
    if not attributes.shape[1] or total == 0:
        return 0.0
    slopes = np.linalg.lstsq(centred, target, rcond=None)[0]
    return float(1 - np.sum((target - centred @ slopes) ** 2) / total)


def _strata(e: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Up to five strata of rising propensity."""
    edges = np.unique(np.quantile(e, [0.2, 0.4, 0.6, 0.8]))
    codes = np.searchsorted(edges, e, side="right")
    present, codes = np.unique(codes, return_inverse=True)
    names = [f"e about {float(np.median(e[codes == k])):.2f}" for k in range(len(present))]
    return names, codes
