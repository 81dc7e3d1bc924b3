"""Fitted models as ONNX graphs, to score rows where there is no Python."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sarlearn.classifiers import BoostedSARClassifier, SAREMClassifier
from sarlearn.tables.encoder import TableEncoder

__all__ = ["to_onnx"]


def to_onnx(model, *, dtype=np.float32):
    """Turn a fitted logistic ``SAREMClassifier`` into an ONNX graph.

    ``f(x) = sigmoid(x . w + b)`` and ``e(x) = sigmoid(x_e . w_e + b_e)`` in one graph.

    Parameters
    ----------
    model : SAREMClassifier, or a Pipeline that ends in one
        Both models logistic (the default). Steps before the last must be known to skl2onnx.
    dtype : {numpy.float32, numpy.float64}
        Of the input ``X``, a matrix of shape (n_rows, n_features).

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label`` (1 for positive, else 0), ``probabilities`` (n_rows, 2) and
        ``propensity`` (n_rows, 1).

    See Also
    --------
    sarlearn.to_sql :
        Turn a fitted model into SQL expressions, to score rows where they lie.
    sarlearn.save : Save a fitted model to a file that can be loaded without running code from it.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SAREMClassifier
    >>> from sarlearn.onnx import to_onnx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> s = (X[:, 0] > 0) & (rng.random(500) < 1 / (1 + np.exp(-X[:, 1])))
    >>> graph = to_onnx(SAREMClassifier([1]).fit(X, s))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities', 'propensity']
    """
    try:
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    except ImportError as error:
        raise ImportError("ONNX needs skl2onnx: pip install 'sarlearn[onnx]'.") from error

    check_is_fitted(model)
    final = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(final, BoostedSARClassifier):
        raise TypeError(
            "to_onnx takes a SAREMClassifier; got BoostedSARClassifier, whose trees it does not "
            "write: skl2onnx has no converter for LightGBM. sarlearn.save keeps such a model, and "
            "SAREMClassifier on the same columns has a graph."
        )
    if not isinstance(final, SAREMClassifier) or not hasattr(final, "coef_"):
        raise TypeError(
            f"to_onnx takes a SAREMClassifier with the logistic classifier; got "
            f"{type(final).__name__}"
            + (f" with classifier={final.classifier!r}." if hasattr(final, "classifier") else ".")
        )
    if not hasattr(final, "propensity_coef_"):
        raise TypeError(
            "to_onnx takes a logistic propensity model; got propensity_estimator="
            f"{final.propensity_estimator!r}."
        )
    if isinstance(model, Pipeline) and any(
        isinstance(step, TableEncoder) for _, step in model.steps
    ):
        raise TypeError(
            "A table classifier reads mixed columns, which ONNX graphs of this package do not: "
            "convert its last step, to_onnx(model[-1]), and give it the encoded table."
        )
    kinds = {np.dtype(np.float32): FloatTensorType, np.dtype(np.float64): DoubleTensorType}
    if np.dtype(dtype) not in kinds:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64; got {dtype!r}.")
    _register(skl2onnx)
    inputs = [("X", kinds[np.dtype(dtype)]([None, model.n_features_in_]))]
    return skl2onnx.convert_sklearn(model, initial_types=inputs, options={"zipmap": False})


def _register(skl2onnx) -> None:
    skl2onnx.update_registered_converter(
        SAREMClassifier,
        "SarlearnSAREMClassifier",
        _shapes,
        _convert,
        parser=_parse,
        options={"zipmap": [False]},
        overwrite=True,
    )


def _parse(scope, model, inputs, custom_parsers=None):
    from skl2onnx.common.data_types import Int64TensorType

    operator = scope.declare_local_operator("SarlearnSAREMClassifier", model)
    operator.inputs = inputs
    kind = type(inputs[0].type)
    for name, output in (
        ("label", Int64TensorType()),
        ("probabilities", kind()),
        ("propensity", kind()),
    ):
        operator.outputs.append(scope.declare_local_variable(name, output))
    return operator.outputs


def _shapes(operator) -> None:
    n_rows = operator.inputs[0].get_first_dimension()
    for output, shape in zip(operator.outputs, ([n_rows], [n_rows, 2], [n_rows, 1]), strict=True):
        output.type.shape = shape


def _convert(scope, operator, container) -> None:
    """Both heads as logistic regressions, which skl2onnx knows how to write."""
    from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
    from skl2onnx.algebra.onnx_ops import OnnxGather, OnnxIdentity

    model, version = operator.raw_operator, container.target_opset
    X = operator.inputs[0]
    columns = model.propensity_features_
    coef = model.propensity_coef_
    if not len(columns):  # SCAR: a constant is a regression on any column with weight 0
        columns, coef = np.array([0]), np.zeros((1, 1))
    class_head = OnnxSubEstimator(
        _logistic(model.coef_, model.intercept_), X, op_version=version, options={"zipmap": False}
    )
    chosen = OnnxGather(X, np.asarray(columns, dtype=np.int64), axis=1, op_version=version)
    propensity_head = OnnxSubEstimator(
        _logistic(coef, model.propensity_intercept_),
        chosen,
        op_version=version,
        options={"zipmap": False},
    )
    labels, probabilities, propensity = operator.outputs
    OnnxIdentity(class_head[0], op_version=version, output_names=[labels]).add_to(scope, container)
    OnnxIdentity(class_head[1], op_version=version, output_names=[probabilities]).add_to(
        scope, container
    )
    OnnxGather(
        propensity_head[1],
        np.array([1], dtype=np.int64),
        axis=1,
        op_version=version,
        output_names=[propensity],
    ).add_to(scope, container)


def _logistic(coef: np.ndarray, intercept: np.ndarray) -> LogisticRegression:
    regression = LogisticRegression()
    regression.coef_, regression.intercept_ = coef, intercept
    regression.classes_ = np.array([0, 1])
    regression.n_features_in_ = coef.shape[1]
    return regression
