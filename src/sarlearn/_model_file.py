"""The part of skops' file format that models of this package need, written and read without skops.

skops imports every estimator of scikit-learn to list those that it trusts, which takes longer than
scoring a hundred thousand rows. A model of this package is numbers, text, arrays, lists and a few
known types. Files are skops' own (protocol 2) and skops reads them; what is not among the above
raises :class:`Unknown`, and is left to skops.
"""

import importlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

PROTOCOL = 2
SCHEMA = "schema.json"
_SCALARS = (bool, int, float, str)
_CONTAINERS: dict[type, str] = {list: "ListNode", tuple: "TupleNode"}
_KEY_TYPES = {"str": str, "int": int}


class Unknown(Exception):
    """Something that only skops can write or read."""


def dumps(content: Any, is_known: Callable[[str], bool]) -> bytes:
    """A file of the content; the types of its objects must be known by their full names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        schema = _Writer(archive, is_known).node(content) | {"protocol": PROTOCOL}
        archive.writestr(SCHEMA, json.dumps(schema))
    return file.getvalue()


def loads(data: bytes, is_known: Callable[[str], bool]) -> Any:
    """The content of a file; builds only objects whose types are known by their full names."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read(SCHEMA))
        if schema.get("protocol") != PROTOCOL:
            raise Unknown(f"protocol {schema.get('protocol')!r}")
        return _Reader(archive, is_known).value(schema)


class _Writer:
    def __init__(self, archive: zipfile.ZipFile, is_known: Callable[[str], bool]):
        self._archive, self._is_known, self._n_arrays = archive, is_known, 0

    def node(self, value: Any) -> dict[str, Any]:
        """A value as the format has it."""
        kind = type(value)
        if value is None or kind in _SCALARS:
            return _named(str, "JsonNode") | {"content": json.dumps(value), "is_json": True}
        if kind in _CONTAINERS:
            return _named(kind, _CONTAINERS[kind]) | {"content": [self.node(v) for v in value]}
        if kind is dict:
            return self._dict(value)
        if kind is np.ndarray or isinstance(value, np.generic):
            return self._array(value)
        if isinstance(value, np.dtype):
            return _named(np.dtype, "DTypeNode") | {"content": self.node(np.empty(0, value))}
        if kind is type and (value in _SCALARS or issubclass(value, np.generic)):
            return _named(value, "TypeNode")
        return self._object(value)

    def _dict(self, value: dict) -> dict[str, Any]:
        if not {type(key) for key in value} <= {*_KEY_TYPES.values()}:
            raise Unknown("a dict with other keys than text and whole numbers")
        return _named(dict, "DictNode") | {
            "content": {str(key): self.node(item) for key, item in value.items()},
            "key_types": self.node([type(key) for key in value]),
        }

    def _array(self, value) -> dict[str, Any]:
        found = _named(type(value), "NdArrayNode")
        if value.dtype.hasobject:
            if value.dtype != object or not value.ndim:
                raise Unknown(f"an array of {value.dtype}")
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
        state = value.__getstate__()
        # One that says itself how it is rebuilt may want more than its attributes back.
        own_way = kind.__reduce__ is not object.__reduce__
        if own_way or not isinstance(state, dict) or not self._is_known(_full_name(kind)):
            raise Unknown(_full_name(kind))
        return _named(kind, "ObjectNode") | {"content": self.node(state)}


class _Reader:
    def __init__(self, archive: zipfile.ZipFile, is_known: Callable[[str], bool]):
        self._archive, self._is_known = archive, is_known

    def value(self, node: dict[str, Any]) -> Any:
        """What a node of the file stands for."""
        readers = {
            "JsonNode": lambda node: json.loads(node["content"]),
            "ListNode": lambda node: [*map(self.value, self._content(node, "builtins.list"))],
            "TupleNode": lambda node: (*map(self.value, self._content(node, "builtins.tuple")),),
            "DictNode": self._dict,
            "NdArrayNode": self._array,
            "DTypeNode": lambda node: self.value(node["content"]).dtype,
            "TypeNode": _type,
            "ObjectNode": self._object,
        }
        if node["__loader__"] not in readers:
            raise Unknown(node["__loader__"])
        return readers[node["__loader__"]](node)

    def _content(self, node: dict[str, Any], name: str) -> Any:
        if _name_of(node) != name:
            raise Unknown(_name_of(node))
        return node["content"]

    def _dict(self, node: dict[str, Any]) -> dict:
        content = self._content(node, "builtins.dict")
        kinds = self.value(node["key_types"])
        if not {*kinds} <= {*_KEY_TYPES.values()}:
            raise Unknown("a dict with other keys than text and whole numbers")
        pairs = zip(kinds, content.items(), strict=True)
        return {kind(key): self.value(item) for kind, (key, item) in pairs}

    def _array(self, node: dict[str, Any]) -> Any:
        if node["type"] == "numpy":
            found = np.load(io.BytesIO(self._archive.read(node["file"])), allow_pickle=False)
            return found if _name_of(node) == "numpy.ndarray" else _scalar_type(node)(found)
        items, shape = [*map(self.value, node["content"])], self.value(node["shape"])
        if len(shape) != 1:
            return np.array(items, dtype=object).reshape(shape)
        out = np.empty(shape, dtype=object)
        out[:] = items
        return out

    def _object(self, node: dict[str, Any]) -> Any:
        name = _name_of(node)
        if not self._is_known(name):  # before anything is imported
            raise Unknown(name)
        kind = getattr(importlib.import_module(node["__module__"]), node["__class__"])
        state, out = self.value(node["content"]), kind.__new__(kind)
        if hasattr(out, "__setstate__"):
            out.__setstate__(state)
        else:
            out.__dict__.update(state)
        return out


def _named(kind: type, loader: str) -> dict[str, Any]:
    return {"__class__": kind.__name__, "__module__": kind.__module__, "__loader__": loader}


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def _name_of(node: dict[str, Any]) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def _type(node: dict[str, Any]) -> type:
    by_name = {_full_name(kind): kind for kind in _SCALARS}
    return by_name.get(_name_of(node)) or _scalar_type(node)


def _scalar_type(node: dict[str, Any]) -> type:
    """A type of NumPy's numbers and texts."""
    found = getattr(np, str(node["__class__"]), None) if node["__module__"] == "numpy" else None
    if isinstance(found, type) and issubclass(found, np.generic):
        return found
    raise Unknown(_name_of(node))
