"""LightGBM's text of boosted trees, checked before LightGBM reads it.

Its reader trusts the text: a wrong size, child or feature makes it read memory that is not its
own. A model file may be damaged or come from anyone, so nothing is handed over before every
index has been found in its range and every path ends in a leaf.
"""

import numpy as np

END = "end of trees\n"
_PER_NODE = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_CATEGORICAL, _KNOWN_BITS = 1, 0b1111


def trees_only(text: str) -> str:
    """The text up to the last tree, without what only training needs."""
    return text[: text.index(END) + len(END)]


def check_text(text: str, n_features: int) -> None:
    """Raise ValueError where the text is not that of trees on so many features."""
    try:
        _check(text, n_features)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"The stored trees are damaged: {error}.") from error


def _check(text: str, n_features: int) -> None:
    if not text.isascii():
        raise ValueError("they hold more than plain text")
    head, _, rest = text.partition("\n\n")
    fields = _fields(head.split("\n")[1:])
    for name, expected in (
        ("num_class", 1),
        ("num_tree_per_iteration", 1),
        ("max_feature_idx", n_features - 1),
    ):
        _expect(int(fields[name]) == expected, f"{name} is {fields[name]}, not {expected}")
    for name in ("feature_names", "feature_infos"):
        _expect(len(fields[name].split(" ")) == n_features, f"{name} has another length")
    _expect(rest.endswith(END), "their end is missing")
    blocks, start = rest[: -len(END)], 0
    for number, size in enumerate(_integers(fields["tree_sizes"])):
        block = blocks[start : start + size]
        _expect(block.startswith(f"Tree={number}\n"), f"tree {number} is not where it should be")
        _expect(block.endswith("\n\n\n") and len(block) == size, f"tree {number} has another size")
        _check_tree(_fields(block.split("\n")[1:]), n_features, number)
        start += size
    _expect(start == len(blocks), "something follows the last tree")


def _check_tree(fields: dict[str, str], n_features: int, number: int) -> None:
    where = f"of tree {number}"
    n_leaves, n_categories = int(fields["num_leaves"]), int(fields["num_cat"])
    _expect(n_leaves >= 1 and int(fields.get("is_linear", 0)) == 0, f"the kind {where} is unknown")
    leaves = np.array(fields["leaf_value"].split(), dtype=float)
    _expect(len(leaves) == n_leaves and np.isfinite(leaves).all(), f"the leaves {where} are wrong")
    if n_leaves == 1:
        return
    n_nodes = n_leaves - 1
    for name in _PER_NODE:
        _expect(len(fields[name].split()) == n_nodes, f"{name} {where} has another length")
    features = _integers(fields["split_feature"])
    _expect(((features >= 0) & (features < n_features)).all(), f"a feature {where} does not exist")
    kinds = _integers(fields["decision_type"])
    _expect((kinds & ~_KNOWN_BITS == 0).all(), f"a decision {where} is of an unknown kind")
    _check_children(fields, n_nodes, n_leaves, where)
    thresholds = np.array(fields["threshold"].split(), dtype=float)
    _expect(not np.isnan(thresholds).any(), f"a threshold {where} is not a number")
    by_category = (kinds & _CATEGORICAL) > 0
    if n_categories or by_category.any():
        _check_categories(fields, thresholds[by_category], n_categories, where)


def _check_children(fields, n_nodes: int, n_leaves: int, where: str) -> None:
    """A node lies below one node that comes before it; so no path is endless."""
    children = np.concatenate([_integers(fields["left_child"]), _integers(fields["right_child"])])
    parents = np.tile(np.arange(n_nodes), 2)
    inner = children >= 0
    _expect((children[inner] > parents[inner]).all(), f"a path {where} is endless")
    every = np.concatenate([np.arange(1, n_nodes), ~np.arange(n_leaves)])
    _expect(np.array_equal(np.sort(children), np.sort(every)), f"a child {where} does not exist")


def _check_categories(fields, thresholds, n_categories: int, where: str) -> None:
    borders, words = _integers(fields["cat_boundaries"]), fields["cat_threshold"].split()
    _expect(len(borders) == n_categories + 1, f"the categories {where} are wrong")
    _expect(borders[0] == 0 and borders[-1] == len(words), f"the categories {where} are wrong")
    _expect((np.diff(borders) > 0).all(), f"the categories {where} are wrong")
    places = thresholds.astype(int)
    inside = (places == thresholds) & (places >= 0) & (places < n_categories)
    _expect(inside.all(), f"a set of categories {where} does not exist")


def _fields(lines: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in lines if line)}


def _integers(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=np.int64)


def _expect(holds, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
