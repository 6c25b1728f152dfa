"""Functions that take a CUDA device in their arguments and are made to put it on the NPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch

# In these keywords a device is looked for; a number there is a card.
_KEYWORDS = ("device", "device_type", "map_location", "device_id")
# Functions whose numbers by position are cards too.
_TAKE_NUMBERS = ("to", "to_empty")


def on_npu(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with CUDA devices in its arguments replaced."""
    numbers = getattr(function, "__name__", "") in _TAKE_NUMBERS

    @functools.wraps(function)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_by_position(value, numbers) for value in args)
        for name in _KEYWORDS:
            if kwargs.get(name) is not None:
                kwargs[name] = _by_keyword(kwargs[name])
        if isinstance(kwargs.get("device_ids"), (list, tuple)):
            ids = kwargs["device_ids"]
            kwargs["device_ids"] = type(ids)(_by_position(value, numbers) for value in ids)
        return function(*args, **kwargs)

    return replaced


def patch(owner: Any, names: Iterable[str]) -> None:
    """Replace the functions ``names`` of ``owner``, as far as this version of torch has them."""
    for name in names:
        function = getattr(owner, name, None)
        if function is not None and not isinstance(function, type):
            setattr(owner, name, on_npu(function))


def _by_position(value: Any, numbers: bool) -> Any:
    if numbers and isinstance(value, int) and not isinstance(value, bool):
        return f"npu:{value}"
    return _replaced(value)


def _by_keyword(value: Any) -> Any:
    return f"npu:{value}" if type(value) is int else _replaced(value)


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("cuda", "npu")
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("npu") if value.index is None else torch.device("npu", value.index)
    if type(value) is dict:
        return {_word(name): _word(each) for name, each in value.items()}
    return value


def _word(value: Any) -> Any:
    return value.replace("cuda", "npu") if isinstance(value, str) else value


def on_hccl(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with nccl in its positional arguments and ``backend`` replaced by hccl."""

    @functools.wraps(function)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_backend(value) for value in args)
        if "backend" in kwargs:
            kwargs["backend"] = _backend(kwargs["backend"])
        return function(*args, **kwargs)

    return replaced


def _backend(value: Any) -> Any:
    return value.replace("nccl", "hccl").replace("cuda", "npu") if type(value) is str else value
