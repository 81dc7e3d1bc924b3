"""LightGBM's text of trees: what is damaged never reaches its reader."""

import numpy as np
import pytest

from sarlearn._engine.tree_scores import PARAMETERS, TreeRows
from sarlearn._engine.tree_text import check_text

pytest.importorskip("lightgbm", reason="LightGBM is not installed")


@pytest.fixture(scope="module")
def text():
    """Trees on numbers, gaps and categories."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 2] = rng.integers(0, 6, 600)
    X[:50, 1] = np.nan
    labelled = (X[:, 0] > -1) & (X[:, 2] % 2 == 1)
    small = PARAMETERS | {"num_leaves": 5}
    rows = TreeRows(X, labelled, np.ones(600), np.arange(600) % 2, None, [2], small)
    boosting = rows.boost(np.zeros((600, 2)), np.full(600, 0.9))
    boosting.grow(7)
    return boosting.trees(7)[0].text


WRONG = {
    "a feature": ("split_feature=", "split_feature=9", "a feature of tree 0"),
    "a negative feature": ("split_feature=2", "split_feature=-2", "a feature of tree 0"),
    "a path": ("left_child=1", "left_child=0", "a path of tree"),
    "a child": ("right_child=", "right_child=9", "a child of tree 0"),
    "a leaf": ("leaf_value=", "leaf_value=0 ", "leaves of tree 0"),
    "a size": ("tree_sizes=", "tree_sizes=9", "tree 0 has another size"),
    "the kind": ("is_linear=0", "is_linear=1", "kind of tree 0"),
    "the number of features": ("max_feature_idx=2", "max_feature_idx=5", "max_feature_idx is 5"),
    "borders": ("cat_boundaries=0 1", "cat_boundaries=0 7", "categories of tree 0"),
    "a set": ("threshold=0", "threshold=8", "a set of categories of tree 0"),
    "a decision": ("decision_type=", "decision_type=9", "a decision of tree 0"),
    "the end": ("end of trees", "end of", "their end"),
    "letters": ("threshold=", "threshold=x", "could not convert"),
    "another alphabet": ("version=", "versión=", "plain text"),
}


@pytest.mark.parametrize("what", WRONG)
def test_damaged_trees_are_not_handed_over(text, what):
    check_text(text, 3)
    old, new, message = WRONG[what]
    assert old in text
    with pytest.raises(ValueError, match=f"stored trees are damaged: .*{message}"):
        check_text(_resized(text, text.replace(old, new, 1)), 3)


def _resized(text: str, altered: str) -> str:
    """With the size of the first tree as it now is, so that not its size gives it away."""
    first, second = text.index("Tree=0\n"), text.index("Tree=1\n")
    if altered[:first] != text[:first]:
        return altered
    size = second - first
    more = size + len(altered) - len(text)
    return altered.replace(f"tree_sizes={size} ", f"tree_sizes={more} ", 1)
