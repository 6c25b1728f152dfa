"""Records what a program computes, in order, without changing it.

Nothing here draws a random number, writes into a tensor or keeps one alive. What is recorded is read at the
moment it exists: a module that works in place changes it right afterwards.
"""

from __future__ import annotations

import hashlib
import re
import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import nn

from cuda2npu.verify.capture import access, weights
from cuda2npu.verify.capture.dropout import no_dropout
from cuda2npu.verify.capture.names import Names, has_parameters, inner
from cuda2npu.verify.capture.patches import Patches
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.capture.sink import Sink
from cuda2npu.verify.capture.structure import Leaf, arguments, flatten
from cuda2npu.verify.operators.inventory import Inventory
from cuda2npu.verify.records import Key, Kind, Record
from cuda2npu.verify.sites import defined, site
from cuda2npu.verify.store import Writer

_LEAVES = 1000  # of one call; who passes more passes data, not arguments
_LARGE = 2**16  # elements of a buffer, such as a mask, that isn't measured in each step
_TEXT = 200  # characters of a string that are kept


@dataclass(frozen=True)
class _Call:
    """A module's call: what its records have in common."""

    name: str
    call: int
    module: str
    training: bool
    source: str
    selected: bool
    defined: str = ""


class _Step:
    """What is known of the step that is being recorded."""

    def __init__(self, number: int, recorded: bool) -> None:
        self.number = number
        self.recorded = recorded  # False for one that an earlier run has completed
        self.order = 0
        self.calls: Counter[tuple[str, ...]] = Counter()
        self.seen: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}  # id -> tensor, version, order
        self.handles: list[Any] = []  # hooks of leaves, which would outlive the step
        self.unscaled: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}


class Recorder:
    """Records the steps between :meth:`begin_step` and :meth:`end_step`, as long as it is entered.

    :param writer: takes the records.
    :raises CaptureError: on entering, if ``settings.like`` can't be read.
    """

    def __init__(self, writer: Writer, settings: Settings) -> None:
        self.writer = writer
        self.settings = settings
        self.names = Names()
        self.inventory: dict[str, Any] | None = None
        self.done = 0  # steps
        self.replaced: list[str] = []  # weights that were others before those of settings.like
        self._like = weights.of_capture(settings.like) if settings.like else None
        self._keeps_weights = settings.resume and weights.are_there(writer.folder)
        self._has_weights = False
        self._pattern = re.compile(settings.pattern)
        self._sink = Sink(writer)
        self._patches = Patches()
        self._lock = threading.RLock()
        self._local = threading.local()
        self._step: _Step | None = None
        self._running = 0  # module calls under way, in all threads
        self._backwards = 0
        self._stepping: list[int] = []  # ids of the optimizers that are in their steps
        self._optimizer_steps = 0
        self._optimizers: list[weakref.ref[torch.optim.Optimizer]] = []
        self._counting: Any = None

    def __enter__(self) -> Recorder:
        self._patches.install(self)
        if not self.settings.dropout:
            self._patches.add(no_dropout())
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.remove()
        if self._step is not None:
            self.drop_step()

    # Steps

    def begin_step(self) -> None:
        """Begin the next step."""
        with self._lock:
            number = self.done
            self._step = _Step(number, not (self.settings.resume and self.writer.has_step(number)))
            if self._step.recorded:
                self.writer.begin_step(number)
                self._add_random_state()
                if number == 0 and self.settings.inventory:
                    self._start_inventory()

    def end_step(self) -> None:
        """Complete the step."""
        with self._lock:
            self._add_buffers()
            step = self._close_step()
            if step.recorded:
                self._sink.flush()
                self.writer.end_step()
            self.done = step.number + 1

    def drop_step(self) -> None:
        """Leave the step as it is: incomplete."""
        with self._lock:
            self._close_step()
            self._sink.forget()

    def _close_step(self) -> _Step:
        step = self._step
        assert step is not None, "begin_step comes first"
        self._step = None
        for handle in step.handles:
            handle.remove()
        self._stop_inventory()
        return step

    # What a subclass may want to know

    def before_event(self) -> None:
        """Something begins from outside of all modules: a call, or a backward pass."""

    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has stepped, or was kept from it by a gradient scaler."""

    # Modules

    def call(self, plain: Callable[..., Any], module: nn.Module, args: Any, kwargs: Any) -> Any:
        """Call a module, and record its inputs and outputs."""
        if inner(module) is not module:
            return plain(module, *args, **kwargs)
        if not self._running and not self._backwards:
            self.before_event()
        with self._lock:
            made = self._enter(module)
            if made.selected:
                self._add_leaves(Kind.INPUT, Kind.INPUT_GRADIENT, made, arguments(args, kwargs))
            stack = self._stack()
            stack.append(made.name)
            self._running += 1
        try:
            output = plain(module, *args, **kwargs)
        finally:
            with self._lock:
                stack.pop()
                self._running -= 1
        if made.selected and self._step is not None:
            with self._lock:
                self._add_leaves(Kind.OUTPUT, Kind.OUTPUT_GRADIENT, made, flatten(output))
        return output

    def prepare(self, module: nn.Module) -> str:
        """Name a model, give it the weights of ``settings.like``, and write those it has; return its name."""
        with self._lock, access.unseen():
            name = self.names.root(module)
            if has_parameters(module):
                if self._like is not None:
                    self.replaced += weights.load(module, name, self._like)
                if self.settings.weights and not self._keeps_weights:
                    weights.write(self.writer, module, name, beside=self._has_weights)
                    self._has_weights = True
            return name

    def add_output(self, name: str, module: nn.Module, output: Any) -> None:
        """Record what a model returned without being recorded: where nothing but that is wanted."""
        with self._lock:
            own = str(defined(type(module)))
            made = _Call(name, 0, type(module).__name__, module.training, "", True, own)
            self._add_leaves(Kind.OUTPUT, Kind.OUTPUT_GRADIENT, made, flatten(output))

    def add_metric(self, value: float) -> None:
        """Record what a validation set yields."""
        with self._lock:
            self._add(Kind.METRIC, "", "", "float", value=value)

    def replica(self, copy: nn.Module, of: nn.Module) -> None:
        """Learn that a module was copied, for a part of a batch."""
        self.names.alias(copy, of)

    def _enter(self, module: nn.Module) -> _Call:
        name = self.names.get(module)
        if name is None:
            stack = self._stack()
            name = self.names.within(module, stack[-1]) if stack else self.prepare(module)
        step = self._step
        selected = step is not None and step.recorded and self._selects(name)
        call = 0
        if step is not None and selected:
            call = step.calls["module", name]
            step.calls["module", name] += 1
        source, own = (str(site()), str(defined(type(module)))) if selected else ("", "")
        return _Call(name, call, type(module).__name__, module.training, source, selected, own)

    def _selects(self, name: str) -> bool:
        deepest = self.settings.depth
        return (deepest is None or name.count(".") <= deepest) and self._pattern.search(name) is not None

    def _stack(self) -> list[str]:
        """Return the names of the modules that this thread is in."""
        try:
            stack: list[str] = self._local.stack
        except AttributeError:
            stack = self._local.stack = []
        return stack

    # Backward passes and optimizers

    def backward(self, plain: Callable[..., Any], tensors: Any, args: Any, kwargs: Any) -> Any:
        """Run a backward pass, and record what it starts from."""
        if not self._running and not self._backwards:
            self.before_event()
        with self._lock:
            if not self._backwards:  # reentrant checkpoints run one within another
                for tensor in [tensors] if isinstance(tensors, torch.Tensor) else tuple(tensors):
                    self._add_loss(tensor)
            self._backwards += 1
        try:
            return plain(tensors, *args, **kwargs)
        finally:
            with self._lock:
                self._backwards -= 1

    def scaled(self, before: Any, after: Any) -> None:
        """Learn that a gradient scaler has multiplied a loss."""
        step = self._step
        if step is not None and isinstance(before, torch.Tensor) and before is not after:
            step.unscaled[id(after)] = (weakref.ref(after), before.detach())

    def scaler_step(
        self, plain: Callable[..., Any], optimizer: torch.optim.Optimizer, args: Any, kwargs: Any
    ) -> Any:
        """Let a gradient scaler step: it may skip the optimizer's."""
        before = self._optimizer_steps
        result = plain(optimizer, *args, **kwargs)
        if self._optimizer_steps == before:
            self.optimizer_begins(optimizer, False)
            self.optimizer_ends(optimizer, False, note="the gradient scaler skipped the step")
        return result

    def optimizer_begins(self, optimizer: torch.optim.Optimizer, has_closure: bool) -> None:
        """Record learning rates and gradients; a closure computes these only within the step."""
        if has_closure and not self._stepping:
            self.before_event()
        with self._lock:
            if id(optimizer) in self._stepping:  # a step of it has failed, and the program went on
                self._stepping.clear()
            self._stepping.append(id(optimizer))
            if len(self._stepping) > 1:  # a wrapper steps the optimizer that it wraps
                return
            self._add_learning_rates(optimizer)
            if not has_closure:
                self._add_parameters(optimizer, Kind.GRADIENT)

    def optimizer_ends(self, optimizer: torch.optim.Optimizer, has_closure: bool, note: str = "") -> None:
        """Record the parameters."""
        with self._lock:
            if self._stepping:
                self._stepping.pop()
            if self._stepping:
                return
            if has_closure:
                self._add_parameters(optimizer, Kind.GRADIENT)
            self._add_parameters(optimizer, Kind.PARAMETER, note)
            self._optimizer_steps += 1
        self.after_optimizer(optimizer)

    def number_of(self, optimizer: torch.optim.Optimizer) -> int:
        """Return which optimizer this is, in the order of their first steps."""
        for number, ref in enumerate(self._optimizers):
            if ref() is optimizer:
                return number
        self._optimizers.append(weakref.ref(optimizer))
        return len(self._optimizers) - 1

    # Records

    def _is_full(self, last_too: bool = False) -> bool:
        number = self._step.number if self._step is not None else 0
        is_last = number == self.settings.steps - 1
        return self.settings.tensors and (is_last if last_too else number < self.settings.full_steps)

    def _add(self, kind: Kind, name: str, path: str, dtype: str, **rest: Any) -> None:
        """Add a record without a tensor; equal keys of a step are told apart by a count."""
        step = self._step
        if step is None or not step.recorded:
            return
        call = step.calls[kind.value, name, path]
        step.calls[kind.value, name, path] += 1
        self._sink.plain(Record(Key(kind, name, call, path), self._order(step), dtype, **rest))

    @staticmethod
    def _order(step: _Step) -> int:
        step.order += 1
        return step.order - 1

    def _add_random_state(self) -> None:
        with access.unseen():
            digest = hashlib.sha256(bytes(torch.get_rng_state().numpy())).hexdigest()
        self._add(Kind.RANDOM_STATE, "", "", "str", value=digest)

    def _add_leaves(self, kind: Kind, gradient: Kind, call: _Call, leaves: Iterable[Leaf]) -> None:
        step = self._step
        if step is None:
            return
        common: dict[str, Any] = {
            "module": call.module,
            "training": call.training,
            "source": call.source,
            "defined": call.defined,
        }
        for number, (path, value) in enumerate(leaves):
            key = Key(kind, call.name, call.call, path)
            if number == _LEAVES:
                note = f"there are more than {_LEAVES}, the rest is left out"
                self._sink.plain(Record(key, self._order(step), "NoneType", note=note, **common))
                return
            if isinstance(value, torch.Tensor):
                self._add_tensor(step, key, gradient, value, common)
            else:
                self._sink.plain(Record(key, self._order(step), **_plain(value), **common))

    def _add_tensor(
        self, step: _Step, key: Key, gradient: Kind, tensor: torch.Tensor, common: dict[str, Any]
    ) -> None:
        order = self._order(step)
        device = str(tensor.device)
        known = _seen(step, tensor)
        reason = access.why_unreadable(tensor)
        note = reason or ("sparse: its values" if tensor.layout == torch.sparse_coo else "")
        record = Record(
            key, order, str(tensor.dtype)[6:], _shape(tensor), device, same_as=known, note=note, **common
        )
        if known is not None or reason:
            self._sink.plain(record)
            return
        _remember(step, tensor, order)
        self._sink.tensor(record, tensor, self._is_full())
        if tensor.requires_grad and torch.is_grad_enabled():
            self._hook(step, Key(gradient, key.name, key.call, key.path), device, tensor, common)

    def _hook(self, step: _Step, key: Key, device: str, tensor: torch.Tensor, common: dict[str, Any]) -> None:
        """Record the gradient of a tensor when it comes. The tensor must not be held by the hook."""
        fired = 0

        def hook(gradient: torch.Tensor) -> None:
            nonlocal fired
            if self._step is not step:  # a graph that outlives its step
                return
            with self._lock:
                path = f"{key.path}~{fired}" if fired else key.path  # a graph that is gone through twice
                fired += 1
                found = Key(key.kind, key.name, key.call, path)
                self._add_gradient(step, found, device, gradient, common)

        handle = tensor.register_hook(hook)
        if tensor.is_leaf:
            step.handles.append(handle)

    def _add_gradient(
        self, step: _Step, key: Key, device: str, gradient: torch.Tensor, common: dict[str, Any]
    ) -> None:
        reason = access.why_unreadable(gradient)
        dtype = str(gradient.dtype)[6:]
        record = Record(key, self._order(step), dtype, _shape(gradient), device, note=reason, **common)
        if reason:
            self._sink.plain(record)
        else:
            self._sink.tensor(record, gradient, self._is_full())

    def _add_loss(self, loss: torch.Tensor) -> None:
        step = self._step
        if step is None or not step.recorded:
            return
        entry = step.unscaled.get(id(loss))
        note = ""
        if entry is not None and entry[0]() is loss:
            loss, note = entry[1], "before the gradient scaler's factor"
        call = step.calls["loss",]
        step.calls["loss",] += 1
        dtype, device = str(loss.dtype)[6:], str(loss.device)
        record = Record(Key(Kind.LOSS, "", call), self._order(step), dtype, _shape(loss), device, note=note)
        if access.why_unreadable(loss):
            self._sink.plain(record)
        elif loss.numel() == 1 and not loss.is_complex():
            self._sink.scalar(record, loss)
        else:
            self._sink.tensor(record, loss, self._is_full())

    def _add_learning_rates(self, optimizer: torch.optim.Optimizer) -> None:
        number = self.number_of(optimizer)
        for group, options in enumerate(optimizer.param_groups):
            rate = options.get("lr")
            if rate is not None:
                path = f"{number}.{group}" if number else str(group)
                self._add(Kind.LEARNING_RATE, "", path, "float", value=float(rate))

    def _add_parameters(self, optimizer: torch.optim.Optimizer, kind: Kind, note: str = "") -> None:
        step = self._step
        if step is None or not step.recorded:
            return
        number = self.number_of(optimizer)
        for group, options in enumerate(optimizer.param_groups):
            for position, parameter in enumerate(options["params"]):
                name = self.names.parameter(parameter) or f"optimizer.{number}.{group}.{position}"
                if self._pattern.search(name) is not None:
                    self._add_parameter(step, kind, name, parameter, note)

    def _add_parameter(self, step: _Step, kind: Kind, name: str, parameter: torch.Tensor, note: str) -> None:
        tensor = parameter.grad if kind is Kind.GRADIENT else parameter
        call = step.calls[kind.value, name]
        step.calls[kind.value, name] += 1
        key, device = Key(kind, name, call), str(parameter.device)
        if tensor is None:
            self._sink.plain(Record(key, self._order(step), "NoneType", device=device, note=note))
            return
        reason = access.why_unreadable(tensor)
        dtype = str(tensor.dtype)[6:]
        record = Record(key, self._order(step), dtype, _shape(tensor), device, note=reason or note)
        if reason:
            self._sink.plain(record)
        else:
            self._sink.tensor(record, tensor, self._is_full(last_too=kind is Kind.PARAMETER))

    def _add_buffers(self) -> None:
        step = self._step
        if step is None or not step.recorded:
            return
        for name, buffer in self.names.buffers():
            is_due = step.number in (0, self.settings.steps - 1) or buffer.numel() <= _LARGE
            if not is_due or self._pattern.search(name) is None:
                continue
            key, dtype = Key(Kind.BUFFER, name), str(buffer.dtype)[6:]
            reason = access.why_unreadable(buffer)
            record = Record(key, self._order(step), dtype, _shape(buffer), str(buffer.device), note=reason)
            if reason:
                self._sink.plain(record)
            else:
                self._sink.tensor(record, buffer, self._is_full(last_too=True))

    # The operators of the first step

    def _start_inventory(self) -> None:
        self._counting = Inventory()
        self._counting.__enter__()

    def _stop_inventory(self) -> None:
        if self._counting is not None:
            self._counting.__exit__(None, None, None)
            self.inventory = self._counting.as_json()
            self._counting = None


def _shape(tensor: torch.Tensor) -> tuple[int, ...] | None:
    return None if tensor.is_nested else tuple(tensor.shape)


def _seen(step: _Step, tensor: torch.Tensor) -> int | None:
    """Return the order of the record that holds this very tensor, if it wasn't written to since."""
    entry = step.seen.get(id(tensor))
    if entry is None or tensor.is_inference():
        return None
    ref, version, order = entry
    is_same = ref() is tensor
    return order if is_same and tensor._version == version else None


def _remember(step: _Step, tensor: torch.Tensor, order: int) -> None:
    if not tensor.is_inference():  # these count no versions
        step.seen[id(tensor)] = (weakref.ref(tensor), tensor._version, order)


def _plain(value: Any) -> dict[str, Any]:
    """Return type and value of a leaf that is no tensor."""
    dtype = type(value).__name__
    if value is None or isinstance(value, (bool, int, float)):
        return {"dtype": dtype, "value": value}
    if isinstance(value, str):
        return {"dtype": dtype, "value": value[:_TEXT]}
    if isinstance(value, (torch.dtype, torch.device)):
        return {"dtype": dtype, "value": str(value)}
    return {"dtype": dtype, "note": "an object of this class is not looked into"}
