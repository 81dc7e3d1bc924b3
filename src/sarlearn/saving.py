"""Save and load models: files that can be opened without running code from them.

Files are in the format of skops (protocol 2), and skops reads them; but they are written and read
here. skops imports every estimator of scikit-learn to list those that it trusts, which takes longer
than scoring a hundred thousand rows. A model is numbers, text, arrays, lists and objects that are
no more than their attributes; what keeps its state in compiled code cannot be saved.
"""

import builtins
import importlib
import io
import json
import os
import zipfile
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn import __version__
from sarlearn._words import no_file
from sarlearn.tables.write import write_atomically

__all__ = ["load", "save"]

_FORMAT = "sarlearn-model"
_PROTOCOL = 2
_SCHEMA = "schema.json"
_SCALARS = (bool, int, float, str)
_KEYS = (str, int)
# More than any model of this package takes; and the JSON of its lists and dicts, which take far
# more memory than text.
MAX_BYTES = 2**28
_MOST_VALUES = 2_000_000
_CHUNK = 2**20
# A part of estimators that is none itself.
_PLAIN_TYPE = "sklearn.calibration._CalibratedClassifier"


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
    load_file : Load a model with its versions and notes.
    """

    model: Any
    versions: dict[str, str]
    notes: dict[str, Any] = field(default_factory=dict)


def save(model, path: str | os.PathLike, *, notes: dict[str, Any] | None = None) -> None:
    """Save a fitted model to a file that can be loaded without running code from it.

    Parameters
    ----------
    model : estimator
        Any estimator of this package, or a pipeline that ends in one. Its parts may be estimators
        of scikit-learn, except those that keep their state in compiled code, as decision trees do;
        such a model is saved by joblib.
    path : path
        Usually ``*.skops``. Written to a temporary file first, then renamed.
    notes : dict, optional
        Plain values to keep with the model; :func:`load_file` gives them back.

    See Also
    --------
    load : Load a model that ``save`` wrote.
    to_sql : SQL that scores rows in a database.
    sarlearn.onnx.to_onnx : The same as an ONNX graph.

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
    content = {
        "format": _FORMAT,
        "versions": _versions(),
        "notes": dict(notes or {}),
        "model": model,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        schema = _Writer(archive).node(content) | {"protocol": _PROTOCOL}
        archive.writestr(_SCHEMA, json.dumps(schema))
    with write_atomically(path) as temporary:
        temporary.write_bytes(file.getvalue())


def load(path: str | os.PathLike, *, max_bytes: int = MAX_BYTES):
    """Load a model saved by :func:`save`.

    Only estimators of scikit-learn and of this package and NumPy arrays are built; a file with any
    other type is refused, and the type is named. A file written by another version leads to a
    warning.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default=2**28
        Files that unpack to more are refused: a small file may hold a huge one.

    Returns
    -------
    estimator
        As it was saved.

    See Also
    --------
    save : Save a fitted model to a file.

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
    return load_file(path, max_bytes=max_bytes).model


def load_file(path: str | os.PathLike, *, max_bytes: int = MAX_BYTES) -> SavedModel:
    """Load a model with the versions that wrote it and the notes kept with it.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default=2**28
        Files that unpack to more are refused.

    Returns
    -------
    SavedModel
        The model, ``versions`` and ``notes``.

    See Also
    --------
    sarlearn.load : Load a model that ``save`` wrote.
    SavedModel : What a model file holds.

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
        raise FileNotFoundError(no_file(path, "model file"))
    try:
        with zipfile.ZipFile(path) as archive:
            content = _Reader(archive, max_bytes).content()
    except _Refused as error:
        raise ValueError(f"{path} {error}") from None
    except Exception as error:  # zip, JSON, NumPy or attribute errors, by where it is damaged
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"{path} is not a model saved by sarlearn, or it is damaged ({reason})."
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(
            f"{path} holds a {type(content).__name__}, not a model saved by sarlearn.save."
        )
    from sklearn.base import BaseEstimator

    model = content.get("model")
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a model.")
    _warn_of_versions(path, content["versions"])
    return SavedModel(model, content["versions"], content["notes"])


class _Refused(Exception):
    """What is wrong with a file, as a sentence about it."""


def _no_part(what: str) -> _Refused:
    return _Refused(f"holds {what}, which is no part of a saved model and was not built.")


def _versions() -> dict[str, str]:
    import sklearn

    return {"sarlearn": __version__, "scikit-learn": sklearn.__version__}


def _warn_of_versions(path: Path, versions: dict[str, str]) -> None:
    from sarlearn.exceptions import DataWarning, warn

    for library, version in _versions().items():
        if versions.get(library) != version:
            text = (
                f"{path} was saved with {library} {versions.get(library)}, and this is {version}: "
                "check a few predictions, or fit the model again."
            )
            warn(DataWarning("other-version", text))


class _Writer:
    """Values as skops has them: a tree of JSON, and a file for each array of numbers."""

    def __init__(self, archive: zipfile.ZipFile):
        self._archive, self._n_arrays = archive, 0

    def node(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if value is None or kind in _SCALARS:
            return _named(str, "JsonNode") | {"content": json.dumps(value), "is_json": True}
        if kind in (list, tuple):
            loader = "ListNode" if kind is list else "TupleNode"
            return _named(kind, loader) | {"content": [self.node(item) for item in value]}
        if kind is dict and {type(key) for key in value} <= {*_KEYS}:
            return _named(dict, "DictNode") | {
                "content": {str(key): self.node(item) for key, item in value.items()},
                "key_types": self.node([type(key) for key in value]),
            }
        if kind is np.ndarray or isinstance(value, np.generic):
            return self._array(value)
        if isinstance(value, type) and _is_plain(value):
            return _named(value, "TypeNode")
        return self._object(value)

    def _array(self, value) -> dict[str, Any]:
        found = _named(type(value), "NdArrayNode")
        if value.dtype == object and value.ndim:
            items = [self.node(item) for item in value.tolist()]
            return found | {"type": "json", "content": items, "shape": self.node(value.shape)}
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        name = f"{self._n_arrays}.npy"
        self._n_arrays += 1
        self._archive.writestr(name, buffer.getvalue())
        return found | {"type": "numpy", "file": name}

    def _object(self, value) -> dict[str, Any]:
        kind = type(value)
        # One that says itself how it is rebuilt may want more than its attributes back.
        own_way = kind.__reduce__ is not object.__reduce__
        state = value.__getstate__()
        if own_way or not isinstance(state, dict) or not _is_safe(_full_name(kind)):
            raise TypeError(
                f"The model holds a {_full_name(kind)}, which a model file cannot hold without "
                "running code when it is opened. joblib.dump saves it, for yourself."
            )
        return _named(kind, "ObjectNode") | {"content": self.node(state)}


class _Reader:
    """Builds what the nodes of a file stand for, and counts the bytes as it unpacks them."""

    def __init__(self, archive: zipfile.ZipFile, max_bytes: int):
        self._archive, self._most, self._left = archive, max_bytes, max_bytes

    def content(self) -> Any:
        text = self._unpacked(_SCHEMA)
        if sum(map(text.count, (b"{", b"[", b","))) > _MOST_VALUES:
            raise _no_part(f"more than {_MOST_VALUES:,} values")
        schema = json.loads(text)
        if schema.get("protocol") != _PROTOCOL:
            raise _no_part(f"protocol {schema.get('protocol')!r}")
        return self._value(schema)

    def _unpacked(self, name: str) -> bytes:
        """A part of the file, whose header may lie about its size."""
        parts = []
        with self._archive.open(name) as part:
            while chunk := part.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise _Refused(
                        f"unpacks to more than the {self._most:,} bytes allowed. If you trust it, "
                        "raise max_bytes in sarlearn.load."
                    )
                parts.append(chunk)
        return b"".join(parts)

    def _value(self, node: dict[str, Any]) -> Any:
        loader, module, name = node["__loader__"], node["__module__"], node["__class__"]
        match loader, f"{module}.{name}":
            case "JsonNode", _:
                return json.loads(node["content"])
            case "ListNode", "builtins.list":
                return [*map(self._value, node["content"])]
            case "TupleNode", "builtins.tuple":
                return (*map(self._value, node["content"]),)
            case "DictNode", "builtins.dict":
                return self._dict(node)
            case "NdArrayNode", "numpy.ndarray":
                return self._array(node)
            case "NdArrayNode", _:
                return _type(module, name)(self._array(node))
            case "TypeNode", _:
                return _type(module, name)
            case "ObjectNode", full if _is_safe(full):
                return self._object(node)
        raise _no_part(f"{module}.{name} ({loader})")

    def _dict(self, node: dict[str, Any]) -> dict:
        kinds = self._value(node["key_types"])
        if not {*kinds} <= {*_KEYS}:
            raise _no_part("a dict with other keys than text and whole numbers")
        pairs = zip(kinds, node["content"].items(), strict=True)
        return {kind(key): self._value(item) for kind, (key, item) in pairs}

    def _array(self, node: dict[str, Any]) -> np.ndarray:
        if node["type"] == "numpy":
            return np.load(io.BytesIO(self._unpacked(node["file"])), allow_pickle=False)
        items, shape = [*map(self._value, node["content"])], self._value(node["shape"])
        if len(shape) != 1:
            return np.array(items, dtype=object).reshape(shape)
        out = np.empty(len(items), dtype=object)
        out[:] = items
        return out

    def _object(self, node: dict[str, Any]) -> Any:
        kind = getattr(importlib.import_module(node["__module__"]), node["__class__"])
        state, out = self._value(node["content"]), kind.__new__(kind)
        if hasattr(out, "__setstate__"):
            out.__setstate__(state)
        else:
            out.__dict__.update(state)
        return out


def _is_safe(name: str) -> bool:
    """Whether a full name is that of an estimator of scikit-learn, or of what this package is made
    of; nothing but these two is imported to find out."""
    from sklearn.base import BaseEstimator

    module_name, _, class_name = name.rpartition(".")
    library = module_name.split(".")[0]
    if library not in (__package__, "sklearn"):
        return False
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    if not isinstance(found, type):
        return False
    own = library == __package__ and is_dataclass(found)
    return own or name == _PLAIN_TYPE or issubclass(found, BaseEstimator)


def _named(kind: type, loader: str) -> dict[str, Any]:
    return {"__class__": kind.__name__, "__module__": kind.__module__, "__loader__": loader}


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def _type(module: str, name: str) -> type:
    found = getattr({"builtins": builtins, "numpy": np}.get(module), name, None)
    if isinstance(found, type) and _is_plain(found):
        return found
    raise _no_part(f"{module}.{name}")


def _is_plain(kind: type) -> bool:
    """Whether a type is of plain values, or of NumPy's numbers and texts."""
    return kind in _SCALARS or issubclass(kind, np.generic)
