"""What stands in the arguments and results of modules: tensors and plain values, each with its path.

Containers are looked into: tuples, lists, named tuples, mappings (so ``ModelOutput``, too), dataclasses, and
objects that hold data in members. Arrays of NumPy are tensors. Anything else is a leaf, and what can't be
read of it is said by who records it.
"""

from __future__ import annotations

import dataclasses
import enum
import pathlib
import types
from collections.abc import Iterator, Mapping
from typing import Any, Callable

import numpy as np
import torch

_DEEPEST = 16  # a container that holds itself has no end
_OBJECTS = 3  # objects are looked into no deeper: they may know the whole program
_NO_DATA = (
    *(torch.Tensor, torch.nn.Module, torch.Generator, enum.Enum, type, pathlib.PurePath),
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType),
)

Leaf = tuple[str, Any]


def flatten(value: Any, path: str = "") -> Iterator[Leaf]:
    """Yield the path and the value of each leaf; the path of a value that is no container is ``path``."""
    yield from _flatten(value, path, 0)


def _flatten(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    items = _items(value) if depth < _DEEPEST else None
    if items is None:
        items = _members(value, depth)
    if items is None:
        yield path, _without_numpy(value)
        return
    for name, item in items:
        yield from _flatten(item, f"{path}.{name}" if path else name, depth + 1)


def _members(value: Any, depth: int) -> list[tuple[str, Any]] | None:
    """Return the members of an object that only holds data, such as a configuration or a cache of keys."""
    if depth > _OBJECTS or isinstance(value, _NO_DATA) or not hasattr(value, "__dict__"):
        return None
    return [(name, item) for name, item in vars(value).items() if not name.startswith("_")] or None


def _without_numpy(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return torch.from_numpy(value)
    return value.item() if isinstance(value, np.generic) else value


def arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Leaf]:
    """Yield the leaves of a call's arguments: positional ones are numbered, the others have their names."""
    for number, value in enumerate(args):
        yield from flatten(value, str(number))
    for name, value in kwargs.items():
        yield from flatten(value, name)


def rebuild(value: Any, replace: Callable[[str, Any], Any], path: str = "") -> Any:
    """Return ``value`` with each leaf replaced by what ``replace(path, leaf)`` returns."""
    items = _items(value)
    if items is None:
        return replace(path, value)
    new = {name: rebuild(item, replace, f"{path}.{name}" if path else name) for name, item in items}
    if isinstance(value, Mapping):
        pairs = zip(value, new.values())
        made = dict(pairs)
        return made if type(value) is dict else type(value)(made)  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*new.values())
    if isinstance(value, (tuple, list)):
        return type(value)(new.values())
    return dataclasses.replace(value, **new)


def _items(value: Any) -> list[tuple[str, Any]] | None:
    """Return what a container holds, by name; None for what is no container, or none that can be read."""
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if isinstance(value, (tuple, list)):
        return [(str(number), item) for number, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value)]
    return None
