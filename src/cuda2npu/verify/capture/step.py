"""The records of one step, in the order in which things are computed."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from cuda2npu.verify.capture import access
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.capture.sink import Sink
from cuda2npu.verify.capture.structure import Leaf
from cuda2npu.verify.capture.values import plain
from cuda2npu.verify.records import Key, Kind, Record

_LEAVES = 1000  # of one call; who passes more passes data, not arguments
_LARGE = 2**16  # elements of what isn't trained, such as a mask, that isn't measured in each step


@dataclass(frozen=True)
class Call:
    """A module's call: what its records have in common; see :class:`.Record`."""

    name: str
    call: int
    module: str
    training: bool
    source: str
    defined: str

    def common(self) -> dict[str, Any]:
        """Return the fields of a record that are the same for all of the call."""
        return {
            "module": self.module,
            "training": self.training,
            "source": self.source,
            "defined": self.defined,
        }


class Step:
    """Takes what is computed within a step.

    :param recorded: False for a step that an earlier run has completed: then nothing is taken.
    :param lock: held while a gradient is taken, which may come from a thread of autograd's.
    """

    def __init__(
        self, number: int, recorded: bool, sink: Sink, settings: Settings, lock: threading.RLock
    ) -> None:
        self.number = number
        self.recorded = recorded
        self._sink = sink
        self._settings = settings
        self._lock = lock
        self._order = 0
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._seen: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}  # id -> tensor, version, order
        self._handles: list[Any] = []  # hooks of leaves, which would outlive the step
        self._unscaled: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}
        self._taken: set[str] = set()  # parameters
        self._is_open = True

    def close(self) -> None:
        """Take no gradients any more: a graph may outlive its step."""
        self._is_open = False
        for handle in self._handles:
            handle.remove()

    def count(self, *key: str) -> int:
        """Return how many times this was called with the key before."""
        self._counts[key] += 1
        return self._counts[key] - 1

    def add(self, kind: Kind, name: str, path: str, dtype: str, **rest: Any) -> None:
        """Add a record without a tensor; equal keys are told apart by a count."""
        if self.recorded:
            key = Key(kind, name, self.count(kind.value, name, path), path)
            self._sink.plain(Record(key, self._next(), dtype, **rest))

    def add_leaves(self, kind: Kind, gradient: Kind, call: Call, leaves: Iterable[Leaf]) -> None:
        """Add what a call takes or returns; the gradients of its tensors come later, as ``gradient``."""
        for number, (path, value) in enumerate(leaves):
            key = Key(kind, call.name, call.call, path)
            if number == _LEAVES:
                note = f"there are more than {_LEAVES}, the rest is left out"
                self._sink.plain(Record(key, self._next(), "NoneType", note=note, **call.common()))
                return
            if isinstance(value, torch.Tensor):
                self._add_leaf(key, gradient, value, call)
            else:
                self._sink.plain(Record(key, self._next(), **plain(value), **call.common()))

    def _add_leaf(self, key: Key, gradient: Kind, tensor: torch.Tensor, call: Call) -> None:
        order, known = self._order, self._same(tensor)
        is_readable = self._add_tensor(key, tensor, self.is_full, same_as=known, **call.common())
        if known is not None or not is_readable:
            return
        if not tensor.is_inference():  # these count no versions
            self._seen[id(tensor)] = (weakref.ref(tensor), tensor._version, order)
        if tensor.requires_grad and torch.is_grad_enabled():
            self._hook(Key(gradient, key.name, key.call, key.path), tensor, call)

    def _same(self, tensor: torch.Tensor) -> int | None:
        """Return the order of the record that holds this very tensor, if it wasn't written to since."""
        entry = self._seen.get(id(tensor))
        if entry is None or tensor.is_inference():
            return None
        ref, version, order = entry
        is_same = ref() is tensor
        return order if is_same and tensor._version == version else None

    def _hook(self, key: Key, tensor: torch.Tensor, call: Call) -> None:
        """Record the gradient of a tensor when it comes. The tensor must not be held by the hook."""
        fired, device = 0, str(tensor.device)

        def hook(gradient: torch.Tensor) -> None:
            nonlocal fired
            if not self._is_open:
                return
            with self._lock:
                path = f"{key.path}~{fired}" if fired else key.path  # a graph that is gone through twice
                fired += 1
                found = Key(key.kind, key.name, key.call, path)
                self._add_tensor(found, gradient, self.is_full, device=device, **call.common())

        handle = tensor.register_hook(hook)
        if tensor.is_leaf:
            self._handles.append(handle)

    def scaled(self, before: torch.Tensor, after: torch.Tensor) -> None:
        """Learn that a gradient scaler has multiplied a loss."""
        self._unscaled[id(after)] = (weakref.ref(after), before.detach())

    def add_loss(self, loss: torch.Tensor) -> None:
        """Add what a backward pass starts from, without the factor of a gradient scaler."""
        if not self.recorded:
            return
        entry = self._unscaled.get(id(loss))
        note = ""
        if entry is not None and entry[0]() is loss:
            loss, note = entry[1], "before the gradient scaler's factor"
        is_scalar = loss.numel() == 1 and not loss.is_complex()
        key = Key(Kind.LOSS, "", self.count("loss"))
        self._add_tensor(key, loss, self.is_full, is_scalar=is_scalar, note=note)

    def add_parameter(self, kind: Kind, name: str, parameter: torch.Tensor, note: str = "") -> None:
        """Add a parameter, or its gradient."""
        if not self.recorded:
            return
        self._taken.add(name)
        key, device = Key(kind, name, self.count(kind.value, name)), str(parameter.device)
        tensor = parameter.grad if kind is Kind.GRADIENT else parameter
        if tensor is None:
            self._sink.plain(Record(key, self._next(), "NoneType", device=device, note=note))
        else:
            full = self.is_full if kind is Kind.GRADIENT else self._is_full_at_the_end
            self._add_tensor(key, tensor, full, device=device, note=note)

    def add_rest(self, kind: Kind, name: str, tensor: torch.Tensor) -> None:
        """Add a buffer, or a parameter that no optimizer trains, as it is at the end of the step."""
        is_due = self.number in (0, self._settings.steps - 1) or tensor.numel() <= _LARGE
        if self.recorded and is_due and name not in self._taken:
            self._add_tensor(Key(kind, name), tensor, self._is_full_at_the_end)

    @property
    def is_full(self) -> bool:
        """Whether tensors are kept, not their statistics alone."""
        return self._settings.tensors and self.number < self._settings.full_steps

    @property
    def _is_full_at_the_end(self) -> bool:
        return self._settings.tensors and self.number == self._settings.steps - 1

    def _add_tensor(
        self,
        key: Key,
        tensor: torch.Tensor,
        full: bool,
        *,
        is_scalar: bool = False,
        note: str = "",
        **rest: Any,
    ) -> bool:
        """Add the record of a tensor; return whether its numbers could be read."""
        reason = access.why_unreadable(tensor)
        if not reason and tensor.layout == torch.sparse_coo:
            note = note or "sparse: its values"
        shape = None if reason and not access.has_shape(tensor) else tuple(tensor.shape)
        fields = {"device": str(tensor.device), "note": reason or note, **rest}
        record = Record(key, self._next(), str(tensor.dtype)[6:], shape, **fields)
        if reason or record.same_as is not None:
            self._sink.plain(record)
        elif is_scalar:
            self._sink.scalar(record, tensor)
        else:
            self._sink.tensor(record, tensor, full)
        return not reason

    def _next(self) -> int:
        self._order += 1
        return self._order - 1
