"""Fitted models as ONNX graphs, to score rows where there is no Python."""

import json
from collections import defaultdict
from typing import Any

import numpy as np

from sarlearn._engine.terms import FARTHEST, LEVEL, MISSING, Terms
from sarlearn.sql import Parts, gaps_go_left, parts_of
from sarlearn.tables.encoder import TableEncoder

__all__ = ["to_onnx"]

# Of the standard operators and of those for trees; and the format of files that goes with them.
OPSET, TREE_OPSET, FORMAT = 21, 5, 10
# How a node of a tree decides.
AT_MOST, ONE_OF = 0, 6
# A node whose ways may lead to the same leaf.
STUMP = {"decision_type": "<=", "threshold": 0.0, "split_feature": 0, "missing_type": "None"}


def to_onnx(model):
    """Turn a fitted model into an ONNX graph.

    Parameters
    ----------
    model : fitted classifier, or a Pipeline that ends in one
        A :class:`~sarlearn.SARClassifier`, or a learner with a linear ``coef_``, before which may
        stand a ``StandardScaler``, a ``MinMaxScaler`` or ``TableEncoder(terms=True)``.

    Returns
    -------
    onnx.ModelProto
        Its input ``X`` is a matrix of shape (n_rows, n_features). NaN is a missing value where the
        model takes any, a category is its place in the list of its column's categories, which the
        graph's metadata has as JSON under ``categories``, and a date is the number of days since
        the first one (``reader_.first_days_``). Outputs are ``label`` (1 for
        positive, else 0), ``probabilities`` (n_rows, 2) and, of a model that has learned a
        propensity, ``propensity`` (n_rows, 1).

    See Also
    --------
    sarlearn.to_sql : SQL that scores rows in a database.
    sarlearn.save : Save a fitted model to a file.

    Notes
    -----
    Trees need onnxruntime 1.21 or later. The answers are those of Python to 1e-12. Input in single
    precision is to be widened first; what it has lost can send a row to the other side of a tree's
    threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SARClassifier
    >>> from sarlearn.onnx import to_onnx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> s = (X[:, 0] > 0) & (rng.random(500) < 1 / (1 + np.exp(-X[:, 1])))
    >>> graph = to_onnx(SARClassifier([1]).fit(X, s))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities', 'propensity']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX graphs need onnx: pip install onnx.") from error

    parts = parts_of(model, "to_onnx")
    draft, double, whole = _Draft(onnx), onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64
    X, n_columns = "X", parts.first.n_features_in_
    if parts.reader is not None:
        X, n_columns = _on_scale(draft, X, parts.reader), len(parts.reader.kinds_)
    eta = _sum_of(draft, X, *parts.of_class)
    if parts.trees:
        own = draft.columns(X, parts.learner.classifier_features_)
        eta = draft.add("Add", eta, _trees(draft, own, parts))
    f = draft.add("Sigmoid", eta)
    draft.add("Concat", draft.add("Sub", np.ones(1), f), f, axis=1, name="probabilities")
    label = draft.add("Greater", draft.add("Squeeze", f, np.array([1])), np.array(0.5))
    draft.add("Cast", label, to=whole, name="label")
    outputs = [("label", whole, ["n"]), ("probabilities", double, ["n", 2])]
    if parts.of_label is not None:
        zeta = _sum_of(draft, X, *parts.of_label)
        draft.add("Sigmoid", zeta, name="propensity")
        outputs.append(("propensity", double, ["n", 1]))
    levels = {} if parts.reader is None else parts.reader.levels_by_place()
    metadata = {"categories": json.dumps(levels)} if levels else {}
    return draft.finished(("X", double, ["n", n_columns]), outputs, metadata)


class _Draft:
    """A graph that grows: every operator gives the name of what it makes."""

    def __init__(self, onnx):
        self._onnx, self._nodes, self._constants = onnx, [], []

    def _input(self, value) -> str:
        if isinstance(value, str):
            return value
        self._constants.append(self.tensor(value, f"constant{len(self._constants)}"))
        return self._constants[-1].name

    def add(self, operator: str, *inputs, name: str | None = None, domain: str = "", **attributes):
        name = f"{operator}{len(self._nodes)}" if name is None else name
        names = [self._input(value) for value in inputs]
        node = self._onnx.helper.make_node(operator, names, [name], domain=domain, **attributes)
        self._nodes.append(node)
        return name

    def columns(self, X: str, which) -> str:
        return self.add("Gather", X, np.asarray(which, dtype=np.int64), axis=1)

    def number(self, truth: str) -> str:
        return self.add("Cast", truth, to=self._onnx.TensorProto.DOUBLE)

    def tensor(self, values, name: str = "values"):
        return self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)

    def finished(self, given, outputs, metadata: dict[str, str]):
        helper = self._onnx.helper
        ends = (
            [helper.make_tensor_value_info(*given)],
            [helper.make_tensor_value_info(*output) for output in outputs],
        )
        graph = helper.make_graph(self._nodes, "sarlearn", *ends, self._constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREE_OPSET)]
        made = helper.make_model(graph, opset_imports=versions, ir_version=FORMAT)
        helper.set_model_props(made, metadata)
        self._onnx.checker.check_model(made)
        return made


def _on_scale(draft: _Draft, X: str, reader: TableEncoder) -> str:
    """Skewed columns of a table on their logarithmic scale."""
    units = np.array([reader.log_units_.get(name, np.inf) for name in reader.kinds_])
    skewed = np.isfinite(units)
    sizes = draft.add("Div", draft.add("Abs", X), np.where(skewed, units, 1.0))
    logs = draft.add("Log", draft.add("Add", sizes, np.ones(1)))
    return draft.add("Where", skewed, draft.add("Mul", draft.add("Sign", X), logs), X)


def _sum_of(draft: _Draft, X: str, terms: Terms | None, coef: np.ndarray) -> str:
    """The sum of columns or terms; as in ``Terms.transform``, these end somewhere, and gaps are
    0."""
    if terms is not None:
        X = draft.columns(X, terms.column)
        gaps, same = draft.number(draft.add("IsNaN", X)), np.nan_to_num(terms.level)
        levels = draft.number(draft.add("Equal", X, same))
        X = draft.add("Where", terms.kind == LEVEL, levels, X)
        X = draft.add("Where", terms.kind == MISSING, gaps, X)
        X = draft.add("Div", draft.add("Sub", X, terms.center), terms.scale)
        X = draft.add("Where", draft.add("IsNaN", X), np.array(0.0), X)
        X = draft.add("Clip", X, np.array(-FARTHEST), np.array(FARTHEST))
    return draft.add("Add", draft.add("MatMul", X, coef[:-1, None]), coef[-1:])


def _trees(draft: _Draft, X: str, parts: Parts) -> str:
    """The operator that adds up the leaves of trees."""
    nodes: dict[str, Any] = defaultdict(list)
    roots, leaves, members = [], [], []

    def add(node: dict[str, Any], factor: float) -> tuple[int, int]:
        """Where a node stands, and whether it is a leaf; of inner nodes all below follow."""
        if "leaf_value" in node:
            leaves.append(factor * node["leaf_value"])
            return len(leaves) - 1, 1
        place, is_set = len(nodes["modes"]), node["decision_type"] == "=="
        if is_set:
            members.extend([*map(float, node["threshold"].split("||")), np.nan])
        nodes["featureids"].append(node["split_feature"])
        nodes["modes"].append(ONE_OF if is_set else AT_MOST)
        nodes["splits"].append(0.0 if is_set else node["threshold"])
        nodes["missing_value_tracks_true"].append(int(not is_set and gaps_go_left(node)))
        for side in ("true", "false"):
            nodes[f"{side}nodeids"].append(0)
            nodes[f"{side}leafs"].append(0)
        for side, child in (("true", "left_child"), ("false", "right_child")):
            below = add(node[child], factor)
            nodes[f"{side}nodeids"][place], nodes[f"{side}leafs"][place] = below
        return place, 0

    for factor, tree in parts.trees:
        roots.append(len(nodes["modes"]))
        # A tree has a node at least: of a leaf alone both ways lead to it.
        both = {"left_child": tree, "right_child": tree} | STUMP
        add(both if "leaf_value" in tree else tree, factor)
    splits = draft.tensor(nodes.pop("splits"))
    modes = draft.tensor(np.array(nodes.pop("modes"), dtype=np.uint8))
    sets = {"membership_values": draft.tensor(members)} if members else {}
    return draft.add(
        "TreeEnsemble",
        X,
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=1,
        post_transform=0,
        tree_roots=roots,
        nodes_splits=splits,
        nodes_modes=modes,
        leaf_targetids=[0] * len(leaves),
        leaf_weights=draft.tensor(leaves),
        **{f"nodes_{name}": values for name, values in nodes.items()},
        **sets,
    )
