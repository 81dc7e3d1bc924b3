"""Save and load models: files that can be opened without running code from them."""

import contextlib
import importlib
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from sarlearn import __version__, _model_file
from sarlearn.tables.write import write_atomically

__all__ = ["SavedModel", "load", "load_file", "save"]

_FORMAT = "sarlearn-model"
# Far more than any model takes, far less than what fills a disk or a memory.
MAX_BYTES = 2**32
# Harmless types, no estimators, that a fitted model may hold; dataclasses of the package too.
_PLAIN_TYPES = frozenset(
    {
        "numpy.dtype",
        "sarlearn.tables.pipeline.FromColumns",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
)
# Estimators of scikit-learn that the package's own models hold: such files need no skops.
_OWN_STEPS = frozenset(
    {
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._encoders.OneHotEncoder",
    }
)


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds: the model, the versions that wrote it, and notes of the caller.

    Attributes
    ----------
    model : estimator
        As it was saved.
    versions : dict of str to str
        Of this package and scikit-learn, when it was saved.
    notes : dict
        What :func:`save` was given to keep with the model.

    See Also
    --------
    load_file : Load a model with the versions that wrote it and the notes kept with it.
    """

    model: Any
    versions: dict[str, str]
    notes: dict[str, Any] = field(default_factory=dict)


def save(model, path: str | os.PathLike, *, notes: dict[str, Any] | None = None) -> None:
    """Save a fitted model to a file that can be loaded without running code from it.

    Parameters
    ----------
    model : estimator
        Any estimator of this package, or a pipeline that ends in one.
    path : path
        Usually ``*.skops``. Written to a temporary file first, then renamed.
    notes : dict, optional
        Plain values to keep with the model; :func:`load_file` gives them back.

    See Also
    --------
    load : Load a model saved by ``save``.
    to_sql : Turn a fitted model with logistic classifier and propensity into SQL expressions.
    sarlearn.onnx.to_onnx : Turn a fitted logistic ``SAREMClassifier`` into an ONNX graph.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sarlearn.saving
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.skops"
    ...     sarlearn.saving.save(model, path)
    ...     sarlearn.saving.load(path).predict([[1.0]])
    array([1])
    """
    import sklearn

    content = {
        "format": _FORMAT,
        "versions": {"sarlearn": __version__, "scikit-learn": sklearn.__version__},
        "notes": dict(notes or {}),
        "model": model,
    }
    foreign: list[str] = []
    try:
        data = _model_file.dumps(content, _is_known)
    except _model_file.Unknown:
        sio = _skops()
        data = sio.dumps(content)
        foreign = _foreign_types(sio, data)
    with write_atomically(path) as temporary:
        temporary.write_bytes(data)
    if foreign:
        from sarlearn.exceptions import ForeignTypesWarning, warn

        warn(ForeignTypesWarning(foreign))


def load(path: str | os.PathLike, *, trusted: Sequence[str] = (), max_bytes: int = MAX_BYTES):
    """Load a model saved by :func:`save`.

    Only types of scikit-learn, NumPy, SciPy and this package are built; a file that holds any
    other is refused and its types are named. A file written by another version gives a warning.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str
        Full names of further types to accept, such as ``"lightgbm.sklearn.LGBMClassifier"``.
        Name only types whose source you trust: loading them may run their code.
    max_bytes : int, default=2**32
        Files that would unpack to more are refused: a small file may hold a huge one.

    Returns
    -------
    estimator
        As it was saved.

    See Also
    --------
    save : Save a fitted model to a file that can be loaded without running code from it.
    sarlearn.saving.load_file :
        Load a model with the versions that wrote it and the notes kept with it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sarlearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sarlearn.save(model, pathlib.Path(folder) / "model.skops")
    ...     sarlearn.load(pathlib.Path(folder) / "model.skops")
    LogisticRegression()
    """
    return load_file(path, trusted=trusted, max_bytes=max_bytes).model


def load_file(
    path: str | os.PathLike, *, trusted: Sequence[str] = (), max_bytes: int = MAX_BYTES
) -> SavedModel:
    """Load a model with the versions that wrote it and the notes kept with it.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str
        Full names of further types to accept, as in :func:`load`.
    max_bytes : int, default=2**32
        Files that would unpack to more are refused.

    Returns
    -------
    SavedModel
        The model, ``versions`` and ``notes``.

    See Also
    --------
    sarlearn.load : Load a model saved by ``save``.
    SavedModel :
        What a model file holds: the model, the versions that wrote it, and notes of the caller.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sarlearn import saving
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.skops"
    ...     saving.save(model, path, notes={"table": "patients.csv"})
    ...     saving.load_file(path).notes
    {'table': 'patients.csv'}
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no model file {path}.")
    data = path.read_bytes()  # once, so that what is checked is what is loaded
    _check_size(path, data, max_bytes)
    content = _content(path, data, set(trusted))
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(
            f"{path} holds a {type(content).__name__}, not a model saved by sarlearn.save."
        )
    _check_model(path, content.get("model"))
    _warn_of_versions(path, content["versions"])
    return SavedModel(content["model"], content["versions"], content["notes"])


def _content(path: Path, data: bytes, trusted: set[str]) -> Any:
    """What a file holds, built here where all its types are known, else by skops."""
    with _telling_of_damage(path), contextlib.suppress(_model_file.Unknown):
        return _model_file.loads(data, _is_known)
    sio = _skops()
    with _telling_of_damage(path):
        foreign = [name for name in _foreign_types(sio, data) if name not in trusted]
        if not foreign:
            return sio.loads(data, trusted=sio.get_untrusted_types(data=data))
    raise ValueError(
        f"{path} holds types that are not known to be safe: {', '.join(foreign)}. If you "
        "trust the file's source, name them in sarlearn.load(..., trusted=[...])."
    )


@contextlib.contextmanager
def _telling_of_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # zip, JSON, NumPy or attribute errors, by where it is damaged
        raise ValueError(
            f"{path} is not a model saved by sarlearn, or it is damaged ({_first_line(error)})."
        ) from error


def _check_size(path: Path, data: bytes, max_bytes: int) -> None:
    """Refuse a file that would unpack to more than it may."""
    with _telling_of_damage(path), zipfile.ZipFile(io.BytesIO(data)) as content:
        size = sum(entry.file_size for entry in content.infolist())
    if size > max_bytes:
        raise ValueError(
            f"{path} would unpack to {size:,} bytes, more than the {max_bytes:,} allowed. If you "
            "trust it, raise max_bytes in sarlearn.load."
        )


def _check_model(path: Path, model) -> None:
    from sklearn.base import BaseEstimator

    if not isinstance(model, BaseEstimator):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a model.")


def _skops():
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ImportError("Saved models need skops: pip install 'sarlearn[skops]'.") from error


def _foreign_types(sio, data: bytes) -> list[str]:
    """Types in the file beyond those skops trusts and the estimators of this package."""
    return [name for name in sio.get_untrusted_types(data=data) if not _is_safe(name)]


def _is_known(name: str) -> bool:
    return name in _OWN_STEPS or _is_safe(name)


def _is_safe(name: str) -> bool:
    from sklearn.base import BaseEstimator

    if name in _PLAIN_TYPES:
        return True
    module_name, _, class_name = name.rpartition(".")
    if module_name.split(".")[0] != __package__:
        return False
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and (issubclass(found, BaseEstimator) or is_dataclass(found))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _warn_of_versions(path: Path, versions: dict[str, str]) -> None:
    import sklearn

    from sarlearn.exceptions import OtherVersionWarning, warn

    running = {"sarlearn": __version__, "scikit-learn": sklearn.__version__}
    for library, version in running.items():
        if versions.get(library) != version:
            warn(OtherVersionWarning(str(path), library, versions.get(library), version))
