"""Which columns may labelling follow? Fits that name different ones, weighed by evidence."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sarlearn._engine.auto import cautious, members, ranked
from sarlearn._engine.folds import deal_folds, hash_rows, joined
from sarlearn._engine.sar import Recipe, Sample, Settings
from sarlearn._engine.terms import Terms
from sarlearn._view.refits import check_count, check_rows, generators, run_all
from sarlearn._view.style import BLUE, MUTED, as_percent, new_axes, plain, shorten, tidy
from sarlearn._words import listed

__all__ = ["PropensitySelection", "select_propensity_features"]

N_FOLDS = 5
# So many candidates are named together at most.
MOST_NAMED = 6
# In a sample of two thirds, a candidate among the first so many counts, and fewer of few.
FIRST = 3
# Candidates whose fits weigh so much are suggested.
SUGGESTED = 0.7


@dataclass
class PropensitySelection:
    """What :func:`select_propensity_features` found; ``print`` gives it in words.

    Attributes
    ----------
    weights : dict of str to float
        For each candidate the weight of the fits that name it, those likeliest to matter first.
    features, columns : list of str and ndarray of int
        Candidates with a weight of 0.7 or more, and their columns, rising: what
        ``propensity_features`` takes.
    fits : list of (list of str, float, float)
        What each fit names, its weight, and its class prior; the heaviest first.
    stability : dict of str to float, or None
        Share of samples of two thirds of the rows in which each candidate was among the first
        three, or all but one of three or fewer.

    See Also
    --------
    select_propensity_features :
        Weigh which columns labelling may follow, by fits that name different ones.
    """

    weights: dict[str, float]
    features: list[str]
    columns: np.ndarray
    fits: list[tuple[list[str], float, float]] = field(repr=False)
    stability: dict[str, float] | None = None

    def __str__(self) -> str:
        likely = [f"{name} ({w:.0%})" for name, w in self.weights.items() if w >= 0.05][:8]
        text = "No candidate is needed to explain the labels."
        if likely:
            text = f"Labelling may follow {listed(likely)}: the weight of the fits that name them."
        text += " Class prior by what is named: "
        text += "; ".join(
            f"{listed(names) if names else 'nothing'} {prior:.1%} (weight {weight:.0%})"
            for names, weight, prior in self.fits[:5]
        )
        if self.stability is not None:
            shares = sorted(self.stability.items(), key=lambda pair: -pair[1])
            shown = [f"{name} in {share:.0%}" for name, share in shares if share > 0][:8]
            text += f". Among the first in samples of two thirds: {', '.join(shown)}"
        return (
            f"{text}. Labels hardly tell which columns it is: name all that you know of, one too "
            "many costs little and one left out costs much."
        )

    def plot(self, ax=None):
        """Draw the weight of each candidate, or how often it was among the first."""
        ax = new_axes(ax)
        values = self.weights if self.stability is None else self.stability
        names = sorted(values, key=lambda name: values[name])
        colors = [BLUE if name in self.features else MUTED for name in names]
        ax.barh(range(len(names)), [values[name] for name in names], color=colors, height=0.62)
        ax.set_yticks(range(len(names)), [shorten(name) for name in names])
        for text in ax.get_yticklabels():
            plain(text)
        of_samples = "among the first, share of samples"
        ax.set_xlabel("weight of fits that name it" if self.stability is None else of_samples)
        ax.set_xlim(0, 1)
        as_percent(ax.xaxis)
        tidy(ax, grid="x")
        return ax


def select_propensity_features(
    X,
    s,
    candidates=None,
    *,
    n_resamples: int = 0,
    n_jobs: int | None = None,
    random_state=None,
) -> PropensitySelection:
    """Weigh which columns labelling may follow, by fits that name different ones.

    What ``SARClassifier("auto")`` averages, one by one: candidates are ranked by how much they move
    the propensity beside held-out scores of linear models and trees, and fits that name the first
    0, 1, 2, ... of them are weighed by ``exp(log-likelihood / 2 - columns)``.

    **Assumption.** The class model follows the class closely enough that what it misses is
    labelling. A class it gets wrong makes a column look like one that labelling follows. Leaving a
    true one out costs far more than one too many: in doubt, name the whole shortlist.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows, labelled and unlabelled together.
    s : array-like of shape (n_rows,)
        Labels: 1 labelled, 0 unlabelled.
    candidates : names, indices, mask, callable on the names; list of groups; dict; or None
        What labelling may follow; None is every column. A group, say ``("red", "blue")``, enters as
        a whole: the columns of one attribute of words. A dict gives groups their names.
    n_resamples : int, default=0
        Samples of two thirds for ``stability``; 0 leaves it out.
    n_jobs : int or None, default=None
        Processes; -1 is one per core.
    random_state : int, Generator or None
        Seed of what is drawn.

    Returns
    -------
    PropensitySelection
        Print it, or take its ``features``, ``weights`` and ``plot()``.

    See Also
    --------
    scar_test :
        Test one label frequency for all positives (SCAR) against one that follows attributes.
    goodness_of_fit : Compare the labels with what the model expects, and look for what it lacks.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.inspection import select_propensity_features
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> select_propensity_features(X, s, [1, 2, 3], random_state=0).features
    ['x2']
    """
    n_resamples = check_count(n_resamples, "n_resamples", 0)
    rows = check_rows(X, s)
    every = list(range(rows.X.shape[1]))
    groups = rows.groups(every if candidates is None else candidates)
    columns = [column for group in groups.values() for column in group]
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups.values()])
    first, *draws = generators(random_state, n_resamples + 1)
    names, look = list(groups), _Look(rows.X, rows.labelled, columns, number)
    fits, order = look.fits(first, len(columns) < len(every))
    weights = {j: sum(w for named, w, _ in fits if j in named) for j in order}
    taken = [j for j in order if weights[j] >= SUGGESTED]
    stability = None
    if n_resamples:
        found = run_all(partial(_first, look), draws, n_jobs, "Selection")
        stability = {names[j]: float(np.mean([j in three for three in found])) for j in order}
    return PropensitySelection(
        {names[j]: float(weights[j]) for j in order},
        [names[j] for j in taken],
        np.array(sorted(c for j in taken for c in groups[names[j]]), dtype=np.intp),
        [([names[j] for j in named], weight, prior) for named, weight, prior in fits],
        stability,
    )


class _Look:
    """Rows and candidates: terms of ``columns``, of the group ``number`` each."""

    def __init__(self, X, labelled: np.ndarray, columns: list[int], number: np.ndarray):
        self._X, self._labelled, self._columns, self._number = X, labelled, columns, number

    def _sample(self, rng, some) -> tuple[Sample, Settings, np.ndarray]:
        X, labelled = self._X[some], self._labelled[some]
        terms = Terms.learn(X, self._columns)
        place = dict(zip(self._columns, self._number, strict=True))
        number = np.array([place[j] for j in terms.column])
        # As in SARClassifier, no trees where there are more columns than rows.
        models = ("linear", "trees") if X.shape[1] <= X.shape[0] else ("linear",)
        sample, settings = _sample_of(X, labelled, terms.dense(X), models, rng)
        return sample, cautious(settings), number

    def fits(self, rng, others: bool) -> tuple[list, list[int]]:
        """What each fit names, its weight and class prior; and the candidates in their order."""
        sample, settings, number = self._sample(rng, slice(None))
        sizes = range(1, MOST_NAMED + 1)
        found = members(sample, settings, number, sizes, others)
        named = [np.unique(number[one.terms]).tolist() for one in found]
        order = sorted(np.unique(number).tolist(), key=lambda j: -sum(j in some for some in named))
        fits = [
            (some, one.weight, max(one.fit.stack.class_prior, sample.share))
            for some, one in zip(named, found, strict=True)
        ]
        return sorted(fits, key=lambda fit: -fit[1]), order

    def first(self, rng) -> list[int]:
        """The first candidates in a sample of two thirds."""
        n = len(self._labelled)
        sample, settings, number = self._sample(rng, np.sort(rng.permutation(n)[: 2 * n // 3]))
        alone = Recipe(replace(sample, B=sample.B[:, :0]), settings).fit()
        order = ranked(sample, settings, number, alone)
        return order[: max(1, min(FIRST, len(order) - 1))].tolist()


def _first(look: _Look, rng: np.random.Generator) -> list[int]:
    return look.first(rng)


def _sample_of(X, labelled, B, models, rng, groups=None) -> tuple[Sample, Settings]:
    """Rows for the recipe, with folds."""
    hashes = joined(hash_rows(X), groups)
    n_folds = min(N_FOLDS, *(len(np.unique(hashes[kind])) for kind in (labelled, ~labelled)))
    if n_folds < 2:
        raise ValueError("Held-out scores need two different rows of each label at least.")
    folds = deal_folds(hashes, labelled, n_folds, int(rng.integers(2**31)))
    Z = Terms.learn(X, np.arange(X.shape[1])).transform(X)
    sample = Sample(X, Z, B, labelled, np.ones(len(labelled)), None, [folds])
    return sample, Settings(models, n_folds)


def held_out_trees(X, labelled: np.ndarray, rng: np.random.Generator, groups=None) -> np.ndarray:
    """Held-out logits of ``f`` by boosted trees under SCAR, standardised: one column.

    With it the class model has first claim on what the labels show; a propensity attribute has to
    explain more. Linear terms stay beside it, so where labelling does follow an attribute, the
    right pair of models is still among those compared.
    """
    nothing = np.empty((len(labelled), 0))
    given = _sample_of(X, labelled, nothing, ("trees",), rng, groups)
    score = Recipe(*given).fit().held[:, 0]
    return ((score - score.mean()) / max(float(score.std()), 1e-12))[:, None]
