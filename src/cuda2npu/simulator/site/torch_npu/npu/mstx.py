"""Marks in a trace: ``torch.npu.mstx`` is the class, which stands where NVTX stands for CUDA."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import torch

_open: dict[int, torch.autograd.profiler.record_function] = {}
_pushed: list[int] = []
_numbers = itertools.count(1)


def _is_message(message: Any) -> bool:
    if message and isinstance(message, str):
        return True
    warnings.warn("Invalid message for mstx. Please provide a valid message string.", stacklevel=3)
    return False


class mstx:  # noqa: N801
    """Marks and ranges; they appear in a trace of torch.profiler."""

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """Mark this moment."""
        if _is_message(message):
            with torch.autograd.profiler.record_function(message):
                return

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a range and return its number, which :meth:`range_end` takes."""
        if not _is_message(message):
            return 0
        number = next(_numbers)
        _open[number] = torch.autograd.profiler.record_function(message)
        _open[number].__enter__()
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """End the range with this number."""
        started = _open.pop(range_id, None)
        if started is not None:
            started.__exit__(None, None, None)

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a range within the one that was pushed last, and return how deep it lies."""
        _pushed.append(mstx.range_start(message))
        return len(_pushed) - 1

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """End the range that was pushed last, and return how deep it lay."""
        if not _pushed:
            return -1
        mstx.range_end(_pushed.pop())
        return len(_pushed)

    @staticmethod
    def mstx_range(
        message: str, stream: Any = None, domain: str = "default"
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that puts each call of a function into a range."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            return annotate(message)(function)

        return decorate


class annotate:  # noqa: N801
    """A range as a context or a decorator."""

    def __init__(self, message: str = "", stream: Any = None, domain: str = "default") -> None:
        self.message = message
        self.range_id: int | None = None

    def __enter__(self) -> annotate:
        self.range_id = mstx.range_start(self.message)
        return self

    def __exit__(self, *error: object) -> None:
        if self.range_id is not None:
            mstx.range_end(self.range_id)
            self.range_id = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function`` with each call in a range."""
        message = self.message or function.__name__

        @functools.wraps(function)
        def ranged(*args: Any, **kwargs: Any) -> Any:
            with annotate(message):
                return function(*args, **kwargs)

        return ranged


mstx.annotate = annotate
