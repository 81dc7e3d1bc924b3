"""Do chances label independently? Goodness of fit of the histories of labels."""

from dataclasses import dataclass

import numpy as np

from sarlearn._engine import likelihood
from sarlearn._engine.blocks import Block, RowBlocks
from sarlearn._engine.chances import Models, fit_chances, models_at
from sarlearn._engine.columns import conditioned
from sarlearn._view.refits import check_count, generators
from sarlearn.classifiers.repeated import RepeatedSARClassifier, check_visits

__all__ = ["HistoryTestResult", "history_test"]

# With more chances than this, rows are compared by their number of labels.
MOST_CHANCES = 5
# Histories that are expected less often are counted together.
LEAST_EXPECTED = 2.0


@dataclass(frozen=True)
class HistoryTestResult:
    """What the test found.

    Parameters
    ----------
    p_value : float
        Share of data sets simulated from the model that fit no better.
    statistic : float
        Pearson's chi-square of the counts.
    observed, expected : dict of str to float
        Rows with each history, such as ``"010"``, or with each number of labels.
    overdispersion : float
        The statistic over its mean in the simulations: above 1, rows differ in more than the model
        knows.

    See Also
    --------
    history_test : Test whether chances are independent.
    """

    p_value: float
    statistic: float
    observed: dict[str, float]
    expected: dict[str, float]
    overdispersion: float

    def __str__(self) -> str:
        if self.p_value > 0.05:
            return (
                f"The histories of labels fit the model (p = {self.p_value:.2g}): no dependence "
                "between chances beyond the attributes is seen."
            )
        worst = max(
            self.observed,
            key=lambda h: (self.observed[h] - self.expected[h]) ** 2 / max(self.expected[h], 1e-9),
        )
        return (
            f"The histories of labels do not fit the model (p = {self.p_value:.2g}): {worst!r} "
            f"occurs {self.observed[worst]:.0f} times and is expected {self.expected[worst]:.1f} "
            "times. Chances may depend on each other, or rows differ in what no attribute holds; "
            "the class prior is then too low as a rule. Add attributes, or merge chances."
        )

    __repr__ = __str__


def history_test(
    model: RepeatedSARClassifier, X, s, chances=None, *, n_draws: int = 99, random_state=None
) -> HistoryTestResult:
    """Test whether a row's chances to be labelled are independent, as the model assumes.

    Counts of the histories of labels (``010``, ``110``, ...) are compared with what the model
    expects (MacKenzie and Bailey 2004). The null distribution is simulated: labels are drawn from
    the model, and the model is fitted again to each draw. Offsets and sample weights of the fit are
    not used.

    Parameters
    ----------
    model : RepeatedSARClassifier
        The fitted model.
    X, s, chances : array-like
        The data it was fitted to.
    n_draws : int >= 19, default=99
        Data sets to simulate.
    random_state : int, Generator or None, default=None
        Draws the labels.

    Returns
    -------
    HistoryTestResult
        Print it, or take its ``p_value``.

    See Also
    --------
    sarlearn.RepeatedSARClassifier : Where every row has several chances to be labelled.
    goodness_of_fit : Compare the labels with what the model expects.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import RepeatedSARClassifier
    >>> from sarlearn.inspection import history_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = rng.random(500) < 0.5
    >>> s = y[:, None] & (rng.random((500, 3)) < 0.4)
    >>> model = RepeatedSARClassifier().fit(X, s)
    >>> history_test(model, X, s, n_draws=19, random_state=0).p_value > 0.05
    True
    """
    n_draws = check_count(n_draws, "n_draws", 19)
    X = model._check_predict(X)
    visits = check_visits(s, X.shape[0])
    block = model._block(X, visits, chances)
    observed, expected = _counts(block, model._models(block))
    found = _chi_square(observed, expected)
    drawn = []
    for rng in generators(random_state, n_draws):
        simulated = _simulated(model, block, rng)
        if not (simulated == 1).any():
            continue
        rows = RowBlocks(X).attach(visits=simulated, chances=block.chances)
        fit = fit_chances(
            conditioned(rows),
            C=model.C,
            propensity_C=model.propensity_C,
            tol=1e-8,
            starts=(float(np.clip(np.mean(model._models(block).e), 0.02, 0.98)),),
        )
        again = Block(block.rows, X, visits=simulated, chances=block.chances)
        drawn.append(_chi_square(*_counts(again, models_at(again, fit.theta, fit.phi))))
    values = np.array(drawn)
    return HistoryTestResult(
        p_value=float((1 + np.sum(values >= found)) / (1 + len(values))),
        statistic=found,
        observed=observed,
        expected=expected,
        overdispersion=found / max(float(values.mean()), 1e-12),
    )


def _simulated(model, block: Block, rng) -> np.ndarray:
    models = model._models(block)
    y = rng.random(block.n_rows) < models.f
    labels = y[:, None] & (rng.random(models.e.shape) < models.e)
    return np.where(np.isnan(block.visits), np.nan, labels)


def _counts(block: Block, models: Models) -> tuple[dict[str, float], dict[str, float]]:
    by_history = block.visits.shape[1] <= MOST_CHANCES
    return (_histories if by_history else _numbers)(block.visits, models.f, models.e)


def _histories(visits, f, e) -> tuple[dict[str, float], dict[str, float]]:
    """Rows with each history; a gap is a dot."""
    observed: dict[str, float] = {}
    expected: dict[str, float] = {}
    gaps = np.isnan(visits)
    for pattern in np.unique(gaps, axis=0):
        rows = (gaps == pattern).all(axis=1)
        open_ = np.flatnonzero(~pattern)
        for code in range(2 ** len(open_)):
            history = np.array([(code >> k) & 1 for k in range(len(open_))], dtype=bool)
            word = np.full(len(pattern), ".", dtype="<U1")
            word[open_] = np.where(history, "1", "0")
            name = "".join(word)
            part = e[rows][:, open_]
            positive = np.prod(np.where(history, part, 1 - part), axis=1)
            negative = 0.0 if history.any() else 1.0
            chance = likelihood.chance(f[rows], 1 - f[rows], positive, negative)
            expected[name] = float(chance.sum())
            observed[name] = float((visits[rows][:, open_] == history).all(axis=1).sum())
    return observed, expected


def _numbers(visits, f, e) -> tuple[dict[str, float], dict[str, float]]:
    """Rows with each number of labels, by the distribution of a sum of unequal coins."""
    n, n_chances = visits.shape
    positive = np.zeros((n, n_chances + 1))
    positive[:, 0] = 1.0
    for j in range(n_chances):
        p = np.where(np.isnan(visits[:, j]), 0.0, e[:, j])[:, None]
        positive[:, 1:] = positive[:, 1:] * (1 - p) + positive[:, :-1] * p
        positive[:, :1] *= 1 - p
    negative = np.arange(n_chances + 1) == 0
    chance = likelihood.chance(f[:, None], 1 - f[:, None], positive, negative)
    found = np.bincount(np.nansum(visits, axis=1).astype(int), minlength=n_chances + 1)
    names = [f"{k} labels" for k in range(n_chances + 1)]
    return (
        dict(zip(names, found.astype(float).tolist(), strict=True)),
        dict(zip(names, chance.sum(axis=0).tolist(), strict=True)),
    )


def _chi_square(observed: dict[str, float], expected: dict[str, float]) -> float:
    """Pearson's, rare histories together."""
    rare = [name for name in expected if expected[name] < LEAST_EXPECTED]
    cells = [(observed[name], expected[name]) for name in expected if name not in set(rare)]
    together = sum(expected[name] for name in rare)
    if together > 0:
        cells.append((sum(observed[name] for name in rare), max(together, 0.5)))
    return float(sum((o - e) ** 2 / e for o, e in cells))
