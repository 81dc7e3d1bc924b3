"""Which columns may labelling follow? Fits that name different ones, weighed by evidence."""

from dataclasses import dataclass, field, replace

import numpy as np

from sarlearn._engine.auto import cautious, members
from sarlearn._engine.folds import deal_folds, hash_rows, joined
from sarlearn._engine.sar import Recipe, Sample, Settings
from sarlearn._engine.terms import Terms
from sarlearn._validation import check_groups
from sarlearn._view.refits import check_rows, generators
from sarlearn._view.style import BLUE, MUTED, as_percent, name_rows, new_axes, shorten, tidy
from sarlearn._words import listed

__all__ = ["PropensitySelection", "select_propensity_features"]

N_FOLDS = 5
# So many candidates are named together at most.
MOST_NAMED = 6
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

    See Also
    --------
    select_propensity_features : Weigh which columns labelling may depend on.
    """

    weights: dict[str, float]
    features: list[str]
    columns: np.ndarray
    fits: list[tuple[list[str], float, float]] = field(repr=False)

    def __str__(self) -> str:
        likely = [f"{name} ({w:.0%})" for name, w in self.weights.items() if w >= 0.05][:8]
        text = "No candidate is needed to explain the labels."
        if likely:
            text = f"Labelling may follow {listed(likely)} (weight of the fits that name it)."
        return (
            f"{text} Labels hardly tell which columns it is: name all that you know of, one too "
            "many costs little and one left out costs much."
        )

    __repr__ = __str__

    def plot(self, ax=None):
        """Draw the weight of each candidate."""
        ax, names = new_axes(ax), sorted(self.weights, key=self.weights.__getitem__)
        colors = [BLUE if name in self.features else MUTED for name in names]
        place = range(len(names))
        ax.barh(place, [self.weights[name] for name in names], color=colors, height=0.62)
        name_rows(ax, place, [shorten(name) for name in names])
        ax.set_xlabel("weight of fits that name it")
        ax.set_xlim(0, 1)
        as_percent(ax.xaxis)
        tidy(ax, grid="x")
        return ax


def select_propensity_features(
    X, s, candidates=None, *, groups=None, random_state=None
) -> PropensitySelection:
    """Weigh which columns labelling may depend on, by fits that name different ones.

    These are the fits that ``SARClassifier("auto")`` averages: candidates are ranked by how much
    they move the propensity beside held-out scores of linear models and trees, and fits that name
    the first 0, 1, 2, ... of them get the weight ``exp(log-likelihood / 2 - columns)``.

    **Assumption.** The class model is close enough to the truth that what it misses is due to
    labelling; where it is wrong, a column may look like one that labelling depends on. Leaving out
    a column that matters costs far more than naming one too many: in doubt, name the whole
    shortlist.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows, labelled and unlabelled together.
    s : array-like of shape (n_rows,)
        Labels: 1 labelled, 0 unlabelled.
    candidates : names, indices, mask, callable on the names; list of groups; dict; or None
        What labelling may follow; None is every column. A group, say ``("red", "blue")``, enters as
        a whole: the columns of one attribute of words. A dict gives groups their names.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group, such as visits of one patient, share a fold, as equal rows do.
    random_state : int, Generator or None
        Seed of what is drawn.

    Returns
    -------
    PropensitySelection
        Print it, or take its ``features``, ``weights`` and ``plot()``.

    See Also
    --------
    scar_test : Test whether labels fall at random (SCAR).
    goodness_of_fit : Compare the labels with what the model expects.

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
    rows, (rng,) = check_rows(X, s), generators(random_state, 1)
    n_rows, n_columns = rows.X.shape
    candidates = rows.groups("all" if candidates is None else candidates)
    names, given = list(candidates), list(candidates.values())
    of_column = {j: k for k, columns in enumerate(given) for j in rows.made_of(columns)}
    terms = Terms.learn(rows.X, list(of_column))
    number = np.array([of_column[j] for j in terms.column])
    # As in SARClassifier, no trees where there are more columns than rows.
    models = ("linear", "trees") if n_columns <= n_rows else ("linear",)
    groups = check_groups(groups, n_rows)
    sample, settings = _sample_of(rows.X, rows.labelled, models, rng, groups)
    # Columns of one candidate bear its number, others none.
    columns = np.array([of_column.get(j, -1) for j in sample.columns])
    sample = replace(sample, B=terms.dense(rows.X), columns=columns, attributes=number)
    sizes, others = range(1, MOST_NAMED + 1), len(of_column) < n_columns
    weights, fits = {names[k]: 0.0 for k in np.unique(number)}, []
    for one in members(sample, cautious(settings), sizes, others):
        named = [names[k] for k in np.unique(number[one.terms])]
        fits.append((named, one.weight, max(one.fit.stack.class_prior, sample.share)))
        for name in named:
            weights[name] += one.weight
    weights = dict(sorted(weights.items(), key=lambda pair: -pair[1]))
    taken = [name for name, weight in weights.items() if weight >= SUGGESTED]
    columns = np.array(sorted(j for name in taken for j in candidates[name]), dtype=np.intp)
    return PropensitySelection(weights, taken, columns, sorted(fits, key=lambda fit: -fit[1]))


def _sample_of(X, labelled, models, rng, groups=None) -> tuple[Sample, Settings]:
    """Rows for the recipe, with folds; labels fall at random."""
    hashes = joined(hash_rows(X), groups)
    n_folds = min(N_FOLDS, *(len(np.unique(hashes[kind])) for kind in (labelled, ~labelled)))
    if n_folds < 2:
        raise ValueError("Held-out scores need two different rows of each label at least.")
    folds = deal_folds(hashes, labelled, n_folds, int(rng.integers(2**31)))
    terms, nothing = Terms.learn(X, np.arange(X.shape[1])), np.empty((len(labelled), 0))
    parts = X, terms.transform(X), nothing, terms.column, np.empty(0, np.intp)
    sample = Sample(*parts, labelled, np.ones(len(labelled)), None, [folds])
    return sample, Settings(models, n_folds)


def held_out_trees(X, labelled: np.ndarray, rng: np.random.Generator, groups=None) -> np.ndarray:
    """Held-out logits of ``f`` by boosted trees under SCAR, standardised: one column.

    With it the class model has first claim on what the labels show; a propensity attribute has to
    explain more. Linear terms stay beside it, so where labelling does follow an attribute, the
    right pair of models is still among those compared.
    """
    given = _sample_of(X, labelled, ("trees",), rng, groups)
    score = Recipe(*given).fit().held[:, 0]
    return ((score - score.mean()) / max(float(score.std()), 1e-12))[:, None]
