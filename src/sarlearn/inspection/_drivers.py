"""Which columns that were not named does labelling seem to follow?"""

from collections.abc import Mapping, Sequence

import numpy as np

from sarlearn._engine.drivers import DriverSearch
from sarlearn._validation import resolve_features
from sarlearn._view.inputs import check_count, check_rows

__all__ = ["unnamed_drivers"]


def unnamed_drivers(
    X,
    s,
    propensity_features=(),
    *,
    groups: Mapping[str, Sequence[int]] | None = None,
    max_tried: int = 12,
) -> dict[str, float]:
    r"""Columns that are no propensity features, and that labelling seems to follow.

    Each column with a large score statistic enters the propensity beside those that were named,
    both models are fitted again, and it is told if it raises the likelihood by more than the
    extended BIC asks for (Chen and Chen, Biometrika 95, 2008): :math:`2\,\ell` by more than
    :math:`\log n + 2 \log m` for one of ``m`` columns.

    **What it cannot see.** A driver that the class model absorbs. Labels hardly say which of two
    factors is the class and which is labelling, so where a driver is missing, a column that tells
    the class may be told in its place, or beside it. And a class that is not linear in a column
    looks like labelling that follows it. Name a column if it *can* decide who gets labelled, not
    because it is told here.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows, labelled and unlabelled together.
    s : array-like of shape (n_rows,)
        Labels: 1 labelled, 0 unlabelled.
    propensity_features : names, indices, boolean mask, or callable on the names, default=()
        Those that were named.
    groups : dict of str to sequence of int, default=None
        Columns that belong together, such as the values of one attribute of words, by the name to
        tell; by default every column stands for itself.
    max_tried : int, default=12
        How many of the others are tried.

    Returns
    -------
    dict of str to float
        By name, what each gains beyond its cost, the largest first.

    See Also
    --------
    select_propensity_features : Which of some candidates are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.inspection import unnamed_drivers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-X[:, 1] - 2 * X[:, 2])))
    >>> "x2" in unnamed_drivers(X, s, [1])
    True
    >>> unnamed_drivers(X, s, [1, 2])
    {}
    """
    max_tried = check_count(max_tried, "max_tried", 1)
    rows = check_rows(X, s)
    named = set(resolve_features(propensity_features, rows.names, rows.X.shape[1]).tolist())
    if groups is None:
        groups = {rows.name(j): [j] for j in range(rows.X.shape[1])}
    others = {name: list(g) for name, g in groups.items() if not named & set(g)}
    if not others:
        return {}
    search = DriverSearch(rows.X, rows.labelled, sorted(named))
    order = sorted(others, key=lambda name: -float(np.abs(search.z[others[name]]).max()))
    cost = 2 * float(np.log(len(others)))
    found = {name: search.driver(others[name]).gain - cost for name in order[:max_tried]}
    better = sorted((pair for pair in found.items() if pair[1] > 0), key=lambda pair: -pair[1])
    return dict(better)
