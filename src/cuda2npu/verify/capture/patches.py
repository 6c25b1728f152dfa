"""Where a recorder comes between a program and torch, and how it leaves again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

if TYPE_CHECKING:
    from cuda2npu.verify.capture.recorder import Recorder


class Patches:
    """Everything that was put into torch for one recorder."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def add(self, other: AbstractContextManager[Any]) -> None:
        """Enter something that is left when the recorder is."""
        self._stack.enter_context(other)

    def install(self, recorder: Recorder) -> None:
        """Let the recorder see modules' calls, backward passes and optimizers of this process."""
        owner = os.getpid()

        def sees() -> bool:
            """A process that was forked records nothing, and what is being traced stays as it is."""
            return os.getpid() == owner and torch._C._get_tracing_state() is None

        self._wrap(nn.Module, "__call__", _call(recorder, sees))
        self._wrap(nn.Module, "_replicate_for_data_parallel", _replicate(recorder))
        self._wrap(torch.autograd, "backward", _backward(recorder, sees))
        for scaler in _with_subclasses(torch.amp.GradScaler):
            self._wrap(scaler, "scale", _scale(recorder))
            self._wrap(scaler, "step", _scaler_step(recorder, sees))

        def begins(optimizer: Any, args: Any, kwargs: Any) -> None:
            if sees():
                recorder.optimizer_begins(optimizer, _has_closure(args, kwargs))

        def ends(optimizer: Any, args: Any, kwargs: Any) -> None:
            if sees():
                recorder.optimizer_ends(optimizer, _has_closure(args, kwargs))

        self._stack.callback(register_optimizer_step_pre_hook(begins).remove)
        self._stack.callback(register_optimizer_step_post_hook(ends).remove)

    def remove(self) -> None:
        """Take everything out."""
        self._stack.close()

    def _wrap(self, owner: Any, name: str, wrapper: Callable[[Any], Any]) -> None:
        plain = vars(owner).get(name)
        if plain is not None:
            setattr(owner, name, wrapper(plain))
            self._stack.callback(setattr, owner, name, plain)


def _call(recorder: Recorder, sees: Callable[[], bool]) -> Callable[[Any], Any]:
    def wrap(plain: Any) -> Any:
        def __call__(self: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            return recorder.call(plain, self, args, kwargs) if sees() else plain(self, *args, **kwargs)

        return __call__

    return wrap


def _replicate(recorder: Recorder) -> Callable[[Any], Any]:
    def wrap(plain: Any) -> Any:
        def _replicate_for_data_parallel(self: nn.Module) -> nn.Module:
            copy: nn.Module = plain(self)
            recorder.replica(copy, self)
            return copy

        return _replicate_for_data_parallel

    return wrap


def _backward(recorder: Recorder, sees: Callable[[], bool]) -> Callable[[Any], Any]:
    def wrap(plain: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            return (
                recorder.backward(plain, tensors, args, kwargs) if sees() else plain(tensors, *args, **kwargs)
            )

        return backward

    return wrap


def _scale(recorder: Recorder) -> Callable[[Any], Any]:
    def wrap(plain: Any) -> Any:
        def scale(self: Any, outputs: Any) -> Any:
            scaled = plain(self, outputs)
            recorder.scaled(outputs, scaled)
            return scaled

        return scale

    return wrap


def _scaler_step(recorder: Recorder, sees: Callable[[], bool]) -> Callable[[Any], Any]:
    def wrap(plain: Any) -> Any:
        def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not sees():
                return plain(self, optimizer, *args, **kwargs)
            return recorder.scaler_step(plain.__get__(self), optimizer, args, kwargs)

        return step

    return wrap


def _with_subclasses(cls: Any) -> Iterator[Any]:
    yield cls
    for below in cls.__subclasses__():
        yield from _with_subclasses(below)


def _has_closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    closure = kwargs.get("closure", args[1] if len(args) > 1 else None)  # the first is the optimizer
    return callable(closure)
