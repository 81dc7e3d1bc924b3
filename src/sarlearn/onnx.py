"""Fitted models as ONNX graphs, to score rows where there is no Python."""

import json
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sarlearn._engine.terms import FARTHEST, LEVEL, MISSING, VALUE, Terms
from sarlearn.classifiers import SARClassifier
from sarlearn.classifiers.base import LearnsPropensity
from sarlearn.sql import affine

__all__ = ["to_onnx"]

# Of the standard operators and of those for trees; and the format of files that goes with them.
OPSET, TREE_OPSET, FORMAT = 21, 5, 10
# How a node of a tree decides.
AT_MOST, ONE_OF = 0, 6


def to_onnx(model, *, dtype=np.float32):
    """Turn a fitted model into an ONNX graph.

    Parameters
    ----------
    model : fitted classifier, or a Pipeline that ends in one
        A :class:`~sarlearn.SARClassifier`, or a learner with a linear ``coef_``. Before it may
        stand a ``StandardScaler`` or a ``MinMaxScaler``.
    dtype : {numpy.float32, numpy.float64}
        Of the input and the outputs. The graph computes in double precision either way.

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
    sarlearn.to_sql : Turn a fitted model into SQL expressions, to score rows where they lie.
    sarlearn.save : Save a fitted model to a file that can be loaded without running code from it.

    Notes
    -----
    Trees need onnxruntime 1.21 or later. The answers are those of Python for the same input to
    1e-7 in single precision and 1e-12 in double. What single precision does to the input itself
    can send a row to the other side of a tree's threshold, in Python as in the graph.

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
        raise ImportError("ONNX graphs need onnx: pip install 'sarlearn[onnx]'.") from error

    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    final = steps[-1]
    before = [step for step in steps[:-1] if step not in (None, "passthrough")]
    check_is_fitted(final)
    _refuse(final)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64; got {dtype!r}.")
    n_columns = (before[0] if before else final).n_features_in_
    shift, divisor = affine(before, n_columns, "to_onnx")
    draft, kind = _Draft(onnx), onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    X = draft.add("Cast", "X", to=onnx.TensorProto.DOUBLE)
    if before:
        X = draft.add("Div", draft.add("Sub", X, shift), divisor)
    X = _on_scale(draft, X, final)
    zeta: str | None
    if isinstance(final, SARClassifier):
        eta, zeta = _additive_logits(draft, X, final)
    else:
        eta = draft.linear(X, final.coef_[0], final.intercept_[0])
        zeta = _propensity_logit(draft, X, final)
    f = draft.add("Sigmoid", eta)
    pair = draft.add("Concat", draft.add("Sub", np.ones(1), f), f, axis=1)
    label = draft.add("Greater", draft.add("Squeeze", f, np.array([1])), np.array(0.5))
    draft.add("Cast", label, to=onnx.TensorProto.INT64, name="label")
    draft.add("Cast", pair, to=kind, name="probabilities")
    outputs = [("label", onnx.TensorProto.INT64, ["n"]), ("probabilities", kind, ["n", 2])]
    if zeta is not None:
        draft.add("Cast", draft.add("Sigmoid", zeta), to=kind, name="propensity")
        outputs.append(("propensity", kind, ["n", 1]))
    return draft.finished(("X", kind, ["n", n_columns]), outputs, _categories(final))


def _refuse(final) -> None:
    name = type(final).__name__
    if isinstance(final, SARClassifier):
        own = final.class_logit_.classifiers
        if own:
            raise TypeError(
                "to_onnx writes linear class models and trees, not the "
                f"{type(own[0][1]).__name__} in class_models. sarlearn.save keeps the model."
            )
    elif not hasattr(final, "class_prior_") or not hasattr(final, "coef_"):
        raise TypeError(
            f"to_onnx takes a SARClassifier or a learner with the logistic classifier; got {name}"
            + (f" with classifier={final.classifier!r}." if hasattr(final, "classifier") else ".")
        )
    elif hasattr(final, "propensity_estimator_"):
        raise TypeError(
            "to_onnx takes a logistic propensity model; got propensity_estimator="
            f"{final.propensity_estimator!r}."
        )


def _categories(final) -> dict[str, str]:
    reader = getattr(final, "reader_", None)
    levels = {} if reader is None else reader.levels_by_place()
    return (
        {"categories": json.dumps({str(j): known for j, known in levels.items()})} if levels else {}
    )


def _on_scale(draft: "_Draft", X: str, final) -> str:
    """Skewed columns of a table on their logarithmic scale."""
    reader = getattr(final, "reader_", None)
    if reader is None or not reader.log_units_:
        return X
    units = np.array([reader.log_units_.get(name, np.inf) for name in reader.kinds_])
    skewed = np.isfinite(units)
    sizes = draft.add("Div", draft.add("Abs", X), np.where(skewed, units, 1.0))
    logs = draft.add("Log", draft.add("Add", sizes, np.ones(1)))
    return draft.add("Where", skewed, draft.add("Mul", draft.add("Sign", X), logs), X)


class _Draft:
    """A graph that grows: every operator gives the name of what it makes."""

    def __init__(self, onnx):
        self._onnx, self._nodes, self._constants = onnx, [], []

    def _input(self, value) -> str:
        if isinstance(value, str):
            return value
        name = f"constant{len(self._constants)}"
        array = self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        self._constants.append(array)
        return name

    def add(self, operator: str, *inputs, name: str | None = None, domain: str = "", **attributes):
        name = f"{operator}{len(self._nodes)}" if name is None else name
        names = [self._input(value) for value in inputs]
        node = self._onnx.helper.make_node(operator, names, [name], domain=domain, **attributes)
        self._nodes.append(node)
        return name

    def columns(self, X: str, which) -> str:
        return self.add("Gather", X, np.asarray(which, dtype=np.int64), axis=1)

    def linear(self, X: str, coef: np.ndarray, intercept: float) -> str:
        product = self.add("MatMul", X, np.asarray(coef, dtype=np.float64)[:, None])
        return self.add("Add", product, np.array([intercept], dtype=np.float64))

    def tensor(self, values, dtype=np.float64):
        return self._onnx.numpy_helper.from_array(np.array(values, dtype=dtype), "values")

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


def _propensity_logit(draft: _Draft, X: str, final) -> str | None:
    if hasattr(final, "propensity_features_") and hasattr(final, "propensity_coef_"):
        coef = np.zeros(final.coef_.shape[1])
        coef[final.propensity_features_] = final.propensity_coef_[0]
        return draft.linear(X, coef, final.propensity_intercept_[0])
    if isinstance(final, LearnsPropensity):  # one number for all rows
        c = float(final._propensity(np.zeros((1, final.coef_.shape[1])))[0])
        logit = np.log(c) - np.log1p(-min(c, 1 - 1e-16))
        return draft.linear(X, np.zeros(final.coef_.shape[1]), logit)
    return None


def _additive_logits(draft: _Draft, X: str, final: SARClassifier) -> tuple[str, str]:
    """Of the class, with its trees, and of the propensity."""
    model = final.class_logit_
    eta = _of_terms(draft, X, final.terms_, model.coef)
    nodes = _Nodes()
    for factor, trees in model.trees:
        for tree in trees.dump():
            nodes.add_tree(tree["tree_structure"], factor)
    if nodes.roots:
        own = draft.columns(X, final.classifier_features_)
        eta = draft.add("Add", eta, nodes.write(draft, own))
    return eta, _of_terms(draft, X, final.attributes_, final.phi_)


def _of_terms(draft: _Draft, X: str, terms: Terms, coef: np.ndarray) -> str:
    """The terms' sum; as in ``Terms.transform``, they end somewhere, and gaps are 0."""
    double = draft._onnx.TensorProto.DOUBLE
    blocks, order = [], []
    for kind in (VALUE, MISSING, LEVEL):
        here = np.flatnonzero(terms.kind == kind)
        if not len(here):
            continue
        block = draft.columns(X, terms.column[here])
        if kind == MISSING:
            block = draft.add("Cast", draft.add("IsNaN", block), to=double)
        elif kind == LEVEL:
            block = draft.add("Equal", block, terms.level[None, here])
            block = draft.add("Cast", block, to=double)
        blocks.append(block)
        order.append(here)
    if not blocks:  # a constant: a sum over any column with weight 0
        return draft.linear(draft.columns(X, [0]), np.zeros(1), coef[-1])
    own = terms.part(np.concatenate(order))
    Z = draft.add("Concat", *blocks, axis=1)
    Z = draft.add("Div", draft.add("Sub", Z, own.center[None]), own.scale[None])
    Z = draft.add("Where", draft.add("IsNaN", Z), np.array(0.0), Z)
    Z = draft.add("Clip", Z, np.array(-FARTHEST), np.array(FARTHEST))
    return draft.linear(Z, coef[:-1][np.concatenate(order)], coef[-1])


class _Nodes:
    """The nodes and leaves of trees, as ONNX lists them."""

    def __init__(self):
        self.roots: list[int] = []
        self._nodes: list[dict[str, Any]] = []
        self._leaves: list[float] = []
        self._members: list[float] = []

    def add_tree(self, node: dict[str, Any], factor: float) -> None:
        self.roots.append(len(self._nodes))
        if "leaf_value" in node:  # a tree has a node at least: both ways lead to the leaf
            self._nodes.append(
                {"column": 0, "split": 0.0, "mode": AT_MOST, "gaps": 0, "true": None, "false": None}
            )
            leaf = self._leaf(node, factor)
            self._nodes[-1] |= {"true": leaf, "false": leaf}
        else:
            self._add(node, factor)

    def _leaf(self, node, factor: float) -> tuple[int, int]:
        self._leaves.append(factor * node["leaf_value"])
        return len(self._leaves) - 1, 1

    def _add(self, node: dict[str, Any], factor: float) -> tuple[int, int]:
        """Where a node stands, and whether it is a leaf; of inner nodes all below follow."""
        if "leaf_value" in node:
            return self._leaf(node, factor)
        place, threshold = len(self._nodes), node["threshold"]
        found: dict[str, Any] = {"column": node["split_feature"], "split": 0.0}
        if node["decision_type"] == "==":
            found |= {"mode": ONE_OF, "gaps": 0}
            members = [float(code) for code in threshold.split("||")]
        else:
            # Where no row of the fit had a gap, LightGBM takes gaps for 0.
            left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
            found |= {"mode": AT_MOST, "split": threshold, "gaps": int(left)}
            members = []
        found["members"] = members
        self._nodes.append(found)
        found["true"] = self._add(node["left_child"], factor)
        found["false"] = self._add(node["right_child"], factor)
        return place, 0

    def write(self, draft: _Draft, X: str) -> str:
        """The operator that adds them all up."""

        def of(name: str) -> list:
            return [node[name] for node in self._nodes]

        members = [
            m for node in self._nodes if node["mode"] == ONE_OF for m in [*node["members"], np.nan]
        ]
        sets = {"membership_values": draft.tensor(members)} if members else {}
        return draft.add(
            "TreeEnsemble",
            X,
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function=1,
            post_transform=0,
            tree_roots=self.roots,
            nodes_featureids=of("column"),
            nodes_splits=draft.tensor(of("split")),
            nodes_modes=draft.tensor(of("mode"), np.uint8),
            nodes_missing_value_tracks_true=of("gaps"),
            nodes_truenodeids=[place for place, _ in of("true")],
            nodes_trueleafs=[leaf for _, leaf in of("true")],
            nodes_falsenodeids=[place for place, _ in of("false")],
            nodes_falseleafs=[leaf for _, leaf in of("false")],
            leaf_targetids=[0] * len(self._leaves),
            leaf_weights=draft.tensor(self._leaves),
            **sets,
        )
