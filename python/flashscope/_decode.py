"""Decodes JSON to the types of ``flashscope.documents``, and encodes them."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from keyword import iskeyword
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def decode(kind: type[T], text: str) -> T:
    """Decodes a document of a type. Ignores unknown fields, which newer versions may add."""
    document: T = _structured(kind, json.loads(text))
    return document


def encode(document: Any) -> str:
    """Encodes a document as the JSON that it was decoded from, without its unknown fields."""
    return json.dumps(_plain(document))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        members = [(key, required, getattr(value, name)) for name, key, _, required in _fields(type(value))]
        return {key: _plain(member) for key, required, member in members if required or member is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


@lru_cache(maxsize=None)
def _fields(kind: type) -> list[tuple[str, str, Any, bool]]:
    """The fields of a type: their names in Python and in JSON, their types, and true if they are required."""
    hints = get_type_hints(kind)
    return [(f.name, _in_json(f.name), hints[f.name], f.default is MISSING) for f in fields(kind)]


def _in_json(name: str) -> str:
    return name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name


def _structured(kind: Any, value: Any) -> Any:
    if value is None or kind is Any:
        return value
    if is_dataclass(kind) and isinstance(kind, type):
        known = {name: _structured(hint, value[key]) for name, key, hint, _ in _fields(kind) if key in value}
        return kind(**known)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is list:
        return [_structured(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(_structured(of, item) for of, item in zip(arguments, value, strict=False))
    if origin is dict:
        return {key: _structured(arguments[1], item) for key, item in value.items()}
    if origin in (Union, UnionType):
        return _structured(next((of for of in arguments if _fits(of, value)), Any), value)
    return value


def _fits(kind: Any, value: Any) -> bool:
    """True if a value can be of a type; tells the alternatives of a union apart."""
    if is_dataclass(kind) and isinstance(kind, type):
        return isinstance(value, dict) and all(
            _fits(hint, value[key]) if key in value else not required for _, key, hint, required in _fields(kind)
        )
    origin = get_origin(kind)
    if origin is Literal:
        return value in get_args(kind)
    if origin in (list, tuple):
        return isinstance(value, list)
    if origin is dict:
        return isinstance(value, dict)
    if origin in (Union, UnionType):
        return any(_fits(of, value) for of in get_args(kind))
    if kind is float:
        return isinstance(value, (int, float))
    return not isinstance(kind, type) or isinstance(value, kind)
