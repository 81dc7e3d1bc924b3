"""The cross-fit put together from its steps, so that one of them can be another.

Ideas that were tried and are not in the library: another start, penalties on the label model, and
what becomes of the propensity where every column drives labelling.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, xlog1py, xlogy

from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.boosting_starts import log_likelihood
from sarlearn._engine.crossfit import CS, ROUNDS, START_C, LinearScorer
from sarlearn._engine.em import SAREM, run_to_slope
from sarlearn._engine.folds import make_folds
from sarlearn._engine.known import fit_known
from sarlearn._engine.label_model import LabelFit, LabelModel, _Objective
from sarlearn._engine.propensity import choose_propensity, watch
from sarlearn._engine.stopping import ModelSlopeRule

# Iterations over which the decay rises from 0.9 to 1.
ANNEALING = 50


@dataclass
class Start:
    """SAR-EM: parameters of ``f``, and of ``e`` on the propensity columns."""

    theta: np.ndarray
    theta_e: np.ndarray
    class_prior: float
    e: np.ndarray


@dataclass
class Fitted:
    """A cross-fit: what is needed to predict, and what it found on the way."""

    theta: np.ndarray
    columns: np.ndarray
    theta_e: np.ndarray
    class_prior: float
    C: float
    explained: float
    spread: float

    def class_probability(self, X) -> np.ndarray:
        return expit(RowBlocks(X).matvec(self.theta[:-1]) + self.theta[-1])

    def propensity(self, X) -> np.ndarray:
        return _propensity(X, self.columns, self.theta_e)


def sar_em(X, s, columns, *, C: float = START_C, decay: str = "0.9") -> Start:
    """SAR-EM by the paper's stopping rule.

    ``decay`` is "0.9"; "annealed": at 0.9 to the end, then one iteration at each of 50 decays up
    to 1, then to the end again; or "rising": 50 iterations from 0.9 to 1, then to the end.
    """
    rows = RowBlocks(X).attach(labelled=s)
    propensity, rows = choose_propensity(rows, np.asarray(columns, dtype=int), 1.0)
    em = SAREM(rows, propensity, decay=0.9, C=C)
    em.start()
    if decay != "rising":
        run_to_slope(em, ModelSlopeRule(*watch(em.rows, propensity), 10, 1e-4), 500)
    if decay != "0.9":
        for step in range(1, ANNEALING + 1):
            em.decay = 0.9 + 0.1 * step / ANNEALING
            em.move(em.parameters)
            em.iterate()
        run_to_slope(em, ModelSlopeRule(*watch(em.rows, propensity), 10, 1e-4), 500)
    theta_e = propensity.theta.copy()
    return Start(em.theta.copy(), theta_e, em.class_prior, _propensity(X, columns, theta_e))


def cross_fit(
    X,
    s,
    columns,
    seed: int,
    *,
    start: Start,
    Cs=CS,
    label_model: type[LabelModel] = LabelModel,
    propensity: str = "free",
    final: bool = True,
) -> Fitted:
    """Held-out scores and label model by turns from a start, then one fit on all rows.

    ``propensity`` is "free", as in the library; "kept", the start's; or "scaled", the start's logit
    with a free slope and intercept.
    """
    columns = np.asarray(columns, dtype=int)
    folds = make_folds(X, s, None, 5, seed)
    Xe = X[:, columns]
    Xe = np.asarray(Xe.toarray() if sparse.issparse(Xe) else Xe, dtype=float)
    given = Xe if propensity == "free" else (Xe @ start.theta_e[:-1] + start.theta_e[-1])[:, None]
    e, theta_e = start.e, start.theta_e
    rows = RowBlocks(X).attach(labelled=s, folds=folds.flags)
    scorer = LinearScorer(len(folds), Cs, lambda: None)
    for _ in range(ROUNDS):
        rows, _ = scorer(rows.attach(e=e, not_e=1.0 - e), start.theta)
        scores = rows.gather(_score)
        if propensity == "kept":
            labels = _fit_scores(scores, e, s)
            spread = np.nan
            break
        model = label_model(scores, given, s)
        labels = model.fit()
        spread = model._spread(_place(model, labels.theta))
        theta_e = np.append(labels.propensity_coef, labels.propensity_intercept)
        if propensity == "scaled":
            slope = theta_e[0]
            theta_e = np.append(slope * start.theta_e[:-1], slope * start.theta_e[-1] + theta_e[1])
        e = _propensity(X, columns, theta_e)
    theta = start.theta
    if final:
        known = rows.attach(e=e, not_e=1.0 - e)
        theta = fit_known(known, scorer.C, start.theta, tol=1e-6).theta
    explained = _explained(scores, Xe)
    return Fitted(theta, columns, theta_e, labels.class_prior, scorer.C, explained, spread)


def _score(block: Block) -> np.ndarray:
    return block.score


def _place(model: LabelModel, theta):
    """Value, gradient and sums of a label model at some parameters."""
    (iterate,) = _Objective(model).passes([theta], True)
    return iterate


def _propensity(X, columns, theta_e) -> np.ndarray:
    return expit(RowBlocks(X[:, np.asarray(columns, int)]).matvec(theta_e[:-1]) + theta_e[-1])


def _explained(g: np.ndarray, Xe: np.ndarray) -> float:
    """Share of the variance of the scores that is linear in the propensity columns."""
    A = np.column_stack([Xe, np.ones(len(g))])
    rest = g - A @ np.linalg.lstsq(A, g, rcond=None)[0]
    return float(1 - rest.var() / max(g.var(), 1e-300))


def _fit_scores(g, e, s) -> LabelFit:
    """Slope and intercept of the scores under a propensity that is known."""
    scale = max(float(g.std()), 1e-12)

    def loss(theta):
        return -log_likelihood(theta[0] * g / scale + theta[1], e, s, None)

    found = minimize(loss, [scale, 0.0], method="L-BFGS-B", bounds=[(0, None), (None, None)]).x
    a, b = found[0] / scale, float(found[1])
    prior = float(expit(a * g + b).mean())
    return LabelFit(a, b, np.empty(0), np.nan, prior, -loss(found), found)


class PenalisedLabelModel(LabelModel):
    """The label model with one more term in what it minimises, climbed from the plain optimum."""

    def _extra(self, theta) -> float:
        raise NotImplementedError

    def fit(self, slope: float = 1.0) -> LabelFit:
        plain = super().fit(slope)
        found = minimize(
            lambda theta: _place(self, theta).value + self._extra(theta),
            plain.theta,
            method="L-BFGS-B",
        )
        return self.described(found.x)


class FirthLabelModel(PenalisedLabelModel):
    """Firth (1993): minus half the log determinant of the expected information."""

    def _extra(self, theta) -> float:
        information = _place(self, theta).sums.information + np.diag(self._ridge)
        return -0.5 * float(np.linalg.slogdet(information)[1])


class RidgeLabelModel(LabelModel):
    """The propensity's coefficients penalised as SAR-EM does, by half their squares as given."""

    def __init__(self, scores, attributes, labelled, weight=None):
        super().__init__(scores, attributes, labelled, weight)
        self._ridge[2:-1] = 1.0 / self._scale[1:] ** 2


def entropy_label_model(strength: float) -> type[LabelModel]:
    """The entropy of the class probabilities, so many times (Grandvalet and Bengio, 2004)."""

    class EntropyLabelModel(PenalisedLabelModel):
        def _extra(self, theta) -> float:
            f = expit(np.exp(theta[0]) * self._rows.gather(_score) + theta[1])
            return -strength * float(np.sum(xlogy(f, f) + xlog1py(1 - f, -f)))

    return EntropyLabelModel
