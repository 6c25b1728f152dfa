"""Whether what was read from JSON is of the types that its class declares: a capture may come from others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

Types = Union[type, tuple[type, ...]]

NUMBER = (int, float)
NONE = type(None)

RECORD: Mapping[str, Types] = {
    "kind": str,
    "name": str,
    "call": int,
    "path": str,
    "order": int,
    "dtype": str,
    "shape": (list, NONE),
    "device": str,
    "value": (str, bool, int, float, NONE),
    "statistics": (dict, NONE),
    "tensor": (str, NONE),
    "shard": (str, NONE),
    "same_as": (int, NONE),
    "module": str,
    "training": (bool, NONE),
    "source": str,
    "note": str,
}
STATISTICS: Mapping[str, Types] = {
    **dict.fromkeys(("minimum", "maximum", "mean", "norm"), (*NUMBER, str, NONE)),
    "nan": int,
    "inf": int,
}
HEADER: Mapping[str, Types] = {
    "what": str,
    "device": str,
    "dtype": str,
    "settings": dict,
    "environment": dict,
    "rank": int,
    "ranks": int,
    "inventory": (dict, NONE),
    "complete": bool,
    "error": str,
    "replaced": list,
    "schema": str,
}
SETTINGS: Mapping[str, Types] = {
    **dict.fromkeys(("tensors", "weights", "inventory", "dropout", "resume", "draws"), bool),
    **dict.fromkeys(("full_steps", "steps", "seed"), int),
    **dict.fromkeys(("pattern", "like", "level", "reached", "drawn"), str),
    "depth": (int, NONE),
}


def check(found: Mapping[str, Any], types: Mapping[str, Types]) -> None:
    """Check the entries that ``types`` names.

    :raises TypeError: if one is of another type; True and False are no whole numbers.
    """
    for name, wanted in types.items():
        if name not in found:
            continue
        allowed = wanted if isinstance(wanted, tuple) else (wanted,)
        value = found[name]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise TypeError(f"{name} is {type(value).__name__}")


def check_all(found: Any, wanted: type, what: str) -> None:
    """Check the elements of a list.

    :raises TypeError: if one is of another type.
    """
    for value in found:
        if type(value) is not wanted:
            raise TypeError(f"{what} has {type(value).__name__}")
