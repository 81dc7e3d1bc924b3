"""Cross-fitting: SAR-EM's propensity, held-out scores under it, and the label model on those.

The penalty and the decay that SAR-EM needs distort the scale of ``f``, hence of ``e``. Scores of
rows that the model has not seen, with a free slope, lose both distortions. Five steps, each a
function on rows:

1. :func:`first_propensity`: SAR-EM;
2. :func:`held_out_scores`: ``f`` under that propensity, without each fold in turn;
3. :func:`fit_labels`: the label model, which gives propensity and class prior;
4. steps 2 and 3 once more, under the propensity of step 3; then both are averaged with what
   flexible scores say (:mod:`sarlearn._engine.averaging`);
5. :func:`final_fit`: ``f`` on all rows, with that propensity known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sarlearn._engine.averaging import PSEUDO_COUNTS, PriorAverage, PriorEstimate, average_on_rows
from sarlearn._engine.blocks import Block
from sarlearn._engine.columns import conditioned
from sarlearn._engine.held_out import ROUGH, FoldFits, rows_per_column, with_score
from sarlearn._engine.kernels import logits, sigmoids
from sarlearn._engine.known import fit_known
from sarlearn._engine.known_prior import KnownPrior, PseudoCounts
from sarlearn._engine.label_model import NO_PSEUDO_COUNTS, LabelFit, LabelModel, Profile
from sarlearn._engine.newton import Climb
from sarlearn._engine.propensity import attributes, label_share
from sarlearn._engine.rows import Rows
from sarlearn._engine.sarem import SAREMFit, fit_sar_em
from sarlearn._engine.stopping import EMResult

CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# The penalty of the first SAR-EM fit.
START_C = 10.0
# Times that scores and label model are fitted, the second time under the debiased propensity. The
# second time helps where few positives are labelled; a third time changes little.
ROUNDS = 2
# With so many rows per column the search for the penalty starts from C = 1, with more from a larger
# one in proportion. Where it starts decides how long it takes.
ROWS_PER_COLUMN = 30.0
# With few rows per column the search goes on beyond a fall of less than so many nats: the held-out
# likelihood may then have two maxima.
MARGIN = 5.0
# Penalty on the slopes of the label model's propensity, of standardised attributes. Without it the
# label model could put the class signal into the propensity and did, where rows were few and half
# of the columns named.
PROPENSITY_RIDGE = 1.0


@dataclass
class CrossFit:
    """What the steps found. Parameters of ``f`` and of the propensity are in the user's units.

    ``C`` is the penalty of the best held-out likelihood, NaN with another scorer than the linear
    one. Where ``kept``, the propensity is SAR-EM's as it was: no column is left that could tell
    class from labelling. ``rows`` know their score and propensity; ``theta`` is near the last
    step's fit, in their units. ``labels_only`` is the class prior without what was known of it;
    ``average`` that with other scores, None where more is known than labels, or rows are
    few.
    """

    rows: Rows
    labels: LabelFit
    profile: Profile
    propensity_theta: np.ndarray
    start: SAREMFit
    theta: np.ndarray
    C: float
    held_out: np.ndarray
    kept: bool
    labels_only: float
    average: PriorAverage | None

    @property
    def class_prior(self) -> float:
        return self.labels.class_prior if self.average is None else self.average.class_prior

    @property
    def em(self) -> EMResult:
        return self.start.result


class Scorer(Protocol):
    """Step 2: gives rows their held-out score, and parameters of ``f`` to start from next.

    ``C`` and ``held_out`` are those of the last scores.
    """

    C: float
    held_out: np.ndarray

    def __call__(self, rows: Rows, start: np.ndarray) -> tuple[Rows, np.ndarray]: ...


def cross_fit(
    rows: Rows,
    columns: np.ndarray,
    scorer: Scorer,
    *,
    decay: float = 0.9,
    propensity_C: float = 1.0,
    max_iter: int = 500,
    prior: KnownPrior | None = None,
    pseudo_counts: PseudoCounts = PSEUDO_COUNTS,
    labels_alone: bool = True,
    report: Callable[[], None] = lambda: None,
) -> CrossFit:
    """Steps 1 to 4 on rows that know their labels, weights and folds.

    Where :func:`nothing_left`, SAR-EM's propensity stays: the label model would then be free to
    exchange the two factors, and did (class probabilities with an AUC of 0.07).

    ``prior`` is what is known of the class prior. The label model takes ``pseudo_counts`` where
    ``labels_alone`` speak, of one sample and without audits, and there are ``columns``.
    Other scores have a say where labels alone speak and the prior does not bind.
    ``report`` is called after the first step; the scorer reports its own.
    """
    pseudo_counts = pseudo_counts if labels_alone and len(columns) else NO_PSEUDO_COUNTS
    rows = conditioned(rows)
    units = rows.units.of(columns)
    start = first_propensity(
        rows, columns, decay=decay, propensity_C=propensity_C, max_iter=max_iter
    )
    report()
    theta, phi = start.em.theta, start.em.propensity.theta
    kept = nothing_left(rows, columns)
    for _ in range(1 if kept else ROUNDS):
        rows, theta = scorer(rows.map(_with_propensity, columns, phi), theta)
        model, labels = fit_labels(rows, columns, pseudo_counts, known=kept)
        free = labels
        if prior is not None:
            labels = model.fit_with(prior, free)
        if not kept:
            phi = np.append(labels.propensity_coef, labels.propensity_intercept)
    if prior is not None:
        profile = model.profile_with(prior, free, labels)
    else:
        profile = _open(labels, label_share(rows)) if kept else model.profile(labels)
    average, labels_only = None, free.class_prior
    if labels_alone and not kept and labels is free:  # what is known does not bind
        admitted = profile if prior is None else model.profile(free)
        average = _average(rows, columns, free, admitted, start, pseudo_counts)
        if average is None and prior is None:  # few rows: their range must rest on them alone
            profile = model.profile_of_labels(free)
    if average is not None:
        labels_only = average.class_prior
        if prior is not None and prior.penalty(labels_only) is not None:
            average = None
        else:
            phi = average.propensity(start.em.propensity.theta)
    rows = rows.map(_with_propensity, columns, phi)
    return CrossFit(
        rows,
        labels,
        profile,
        units.to_user(phi),
        start,
        theta,
        scorer.C,
        scorer.held_out,
        kept,
        labels_only,
        average,
    )


def _average(
    rows: Rows,
    columns: np.ndarray,
    labels: LabelFit,
    profile: Profile,
    start: SAREMFit,
    pseudo_counts: PseudoCounts,
) -> PriorAverage | None:
    """The end of step 4: what the label model says, averaged with what flexible scores say."""
    phi = np.append(labels.propensity_coef, labels.propensity_intercept)
    ends = (labels.class_prior, profile.low, profile.high)
    estimate = PriorEstimate("the model's own", *ends, labels.log_likelihood, phi)
    line = (labels.slope, labels.intercept)
    return average_on_rows(rows, columns, estimate, line, start.class_prior, pseudo_counts)


# -- the steps ---------------------------------------------------------------------------------


def first_propensity(rows: Rows, columns: np.ndarray, **settings) -> SAREMFit:
    """Step 1: SAR-EM."""
    return fit_sar_em(rows, columns, C=START_C, **settings)


class LinearScorer:
    """Step 2 with logistic ``f`` of the penalty that the held-out likelihood chooses.

    The search goes from one of ``Cs`` to its neighbours as long as the likelihood rises: it has
    one maximum but for noise, which few rows per column have. It starts from a guess by their
    number, later from what was chosen last.

    Parameters
    ----------
    n_folds : int
    Cs : sequence of float
    report : called after each penalty
    """

    def __init__(self, n_folds: int, Cs: Sequence[float], report: Callable[[], None]):
        self._n_folds, self._Cs, self._report = n_folds, np.asarray(Cs, dtype=float), report
        self.C, self.held_out = np.nan, np.empty(0)

    def __call__(self, rows: Rows, start: np.ndarray) -> tuple[Rows, np.ndarray]:
        fits, found = FoldFits(rows, self._n_folds, start), {}
        self.held_out = np.full(len(self._Cs), np.nan)

        def try_penalty(i: int) -> float:
            thetas = fits.solve(float(self._Cs[i]))
            found[i] = thetas, fits.base
            self.held_out[i] = fits.held_out_likelihood(thetas)
            self._report()
            return self.held_out[i]

        per_column = rows_per_column(rows)
        first = per_column / ROWS_PER_COLUMN if np.isnan(self.C) else self.C
        margin = MARGIN if per_column < ROUGH else 0.0
        best = search(try_penalty, self._Cs, first, margin)
        self.C = float(self._Cs[best])
        thetas, base = found[best]
        return rows.map(with_score, thetas).settled(), base


def search(value: Callable[[int], float], Cs: np.ndarray, first: float, margin: float = 0.0) -> int:
    """The number of the best of ``Cs``, by steps to neighbours from the nearest to ``first``.

    In either direction until one falls, by more than ``margin`` below the best.
    """
    order = np.argsort(Cs)
    start = int(np.argmin(np.abs(np.log(Cs[order]) - np.log(first))))
    found = {start: value(order[start])}
    for direction in (-1, 1):
        at = start
        while 0 <= at + direction < len(order):
            at += direction
            found[at] = value(order[at])
            falls = found[at] < found[at - direction]
            if falls and found[at] < max(found.values()) - margin:
                break
    return int(order[max(found, key=found.__getitem__)])


def fit_labels(
    rows: Rows, columns: np.ndarray, pseudo_counts: PseudoCounts, *, known: bool
) -> tuple[LabelModel, LabelFit]:
    """Step 3: the label model; where the propensity is ``known``, only that of the scores."""
    of = np.empty(0, dtype=np.intp) if known else columns
    model = LabelModel.on_rows(
        rows.map(_label_block, of),
        len(of),
        propensity_ridge=PROPENSITY_RIDGE,
        pseudo_counts=NO_PSEUDO_COUNTS if known else pseudo_counts,
        known=known,
    )
    return model, model.fit()


def final_fit(found: CrossFit, C: float, max_iter: int) -> tuple[np.ndarray, Climb]:
    """Step 5: ``f`` on all rows with the propensity known; in the user's units, and as it went."""
    rows = found.rows
    fit = fit_known(rows, C, found.theta, tol=1e-6, max_iter=max_iter)
    return rows.units.to_user(fit.theta), fit


def mean_probability(rows: Rows, theta: np.ndarray) -> float:
    """Mean of ``f`` over the rows, by weight, for parameters in the rows' units."""
    positives, total = rows.total(_positives, theta)
    return float(positives / total)


def nothing_left(rows: Rows, columns: np.ndarray) -> bool:
    """Whether all columns of the class model that vary are propensity attributes.

    Then ``P(s=1|x) = f(x) e(x)`` holds for every ``f`` above ``P(s=1|x)``, with the matching ``e``:
    labels cannot tell the two apart, however many.
    """
    if not len(columns):
        return False
    ends = rows.each(_ends)
    low, high = np.min([end[0] for end in ends], axis=0), np.max([end[1] for end in ends], axis=0)
    # A column with gaps counts as one that varies.
    constant = high == low
    if rows.units.excluded is not None:
        constant |= rows.units.excluded
    return bool(np.delete(constant, columns).all())


def _open(labels: LabelFit, label_share: float) -> Profile:
    """Every class prior from the share of labels to 1 explains the labels alike."""
    priors = np.unique([label_share, labels.class_prior, 1.0])
    return Profile(label_share, 1.0, priors, np.full(len(priors), labels.log_likelihood))


# -- what is done to a block -------------------------------------------------------------------


def _positives(block: Block, theta: np.ndarray) -> np.ndarray:
    f = sigmoids(logits(block.X, theta))[0]
    weight = np.ones(len(f)) if block.weight is None else block.weight
    return np.array([weight @ f, weight.sum()])


def _with_propensity(block: Block, columns: np.ndarray, phi: np.ndarray) -> Block:
    e, not_e = sigmoids(logits(attributes(block, columns).astype(np.float64), phi))
    return block.with_columns(e=e, not_e=not_e)


def _label_block(block: Block, columns: np.ndarray) -> Block:
    return block.with_columns(matrix=attributes(block, columns).astype(np.float64))


def _ends(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each column."""
    low, high = block.matrix.min(axis=0), block.matrix.max(axis=0)
    if hasattr(low, "toarray"):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low), np.ravel(high)
