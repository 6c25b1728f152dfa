"""Records what a program computes, in order, without changing it.

Nothing here draws a random number, writes into a tensor or keeps one alive. What is recorded is read at the
moment it exists: a module that works in place changes it right afterwards.
"""

from __future__ import annotations

import hashlib
import re
import threading
import weakref
from typing import Any, Callable

import torch
from torch import nn

from cuda2npu.verify.capture import access, weights
from cuda2npu.verify.capture.dropout import no_dropout
from cuda2npu.verify.capture.names import Names, has_parameters, inner
from cuda2npu.verify.capture.patches import Patches
from cuda2npu.verify.capture.settings import Settings
from cuda2npu.verify.capture.sink import Sink
from cuda2npu.verify.capture.step import Call, Step
from cuda2npu.verify.capture.structure import arguments, flatten
from cuda2npu.verify.operators.inventory import Inventory
from cuda2npu.verify.records import Kind
from cuda2npu.verify.sites import defined, site
from cuda2npu.verify.store import Writer


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
        self._step: Step | None = None
        self._has_trained = False  # within this step
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
            recorded = not (self.settings.resume and self.writer.has_step(number))
            self._step = Step(number, recorded, self._sink, self.settings, self._lock)
            self._has_trained = False
            if recorded:
                self.writer.begin_step(number)
                self._step.add(Kind.RANDOM_STATE, "", "", "str", value=random_state())
                if number == 0 and self.settings.inventory:
                    self._start_inventory()

    def end_step(self) -> None:
        """Complete the step."""
        with self._lock:
            if self._step is not None:
                self._add_rest(self._step)
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

    def _close_step(self) -> Step:
        step = self._step
        assert step is not None, "begin_step comes first"
        self._step = None
        step.close()
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
            name, step = self._name(module), self._step
            made = self._selected(module, name)
            if made is not None and step is not None:
                step.add_leaves(Kind.INPUT, Kind.INPUT_GRADIENT, made, arguments(args, kwargs))
            stack = self._stack()
            stack.append(name)
            self._running += 1
        try:
            output = plain(module, *args, **kwargs)
        finally:
            with self._lock:
                stack.pop()
                self._running -= 1
        step = self._step
        if made is not None and step is not None:
            with self._lock:
                step.add_leaves(Kind.OUTPUT, Kind.OUTPUT_GRADIENT, made, flatten(output))
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
        made = Call(name, 0, type(module).__name__, module.training, "", str(defined(type(module))))
        if self._step is not None:
            self._step.add_leaves(Kind.OUTPUT, Kind.OUTPUT_GRADIENT, made, flatten(output))

    def add_metric(self, value: float) -> None:
        """Record what a validation set yields."""
        if self._step is not None:
            self._step.add(Kind.METRIC, "", "", "float", value=value)

    def replica(self, copy: nn.Module, of: nn.Module) -> None:
        """Learn that a module was copied, for a part of a batch."""
        self.names.alias(copy, of)

    def _name(self, module: nn.Module) -> str:
        name = self.names.get(module)
        if name is not None:
            return name
        stack = self._stack()
        return self.names.within(module, stack[-1]) if stack else self.prepare(module)

    def _selected(self, module: nn.Module, name: str) -> Call | None:
        """Return the call of a module that is recorded; None of one that isn't."""
        step = self._step
        if step is None or not step.recorded or not self._selects(name):
            return None
        number = step.count("module", name)
        kind = type(module)
        return Call(name, number, kind.__name__, module.training, str(site()), str(defined(kind)))

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
            if not self._backwards and self._step is not None:  # reentrant checkpoints: one within another
                for tensor in [tensors] if isinstance(tensors, torch.Tensor) else tuple(tensors):
                    self._step.add_loss(tensor)
            self._backwards += 1
        try:
            return plain(tensors, *args, **kwargs)
        finally:
            with self._lock:
                self._backwards -= 1

    def scaled(self, before: Any, after: Any) -> None:
        """Learn that a gradient scaler has multiplied a loss."""
        if self._step is not None and isinstance(before, torch.Tensor) and before is not after:
            self._step.scaled(before, after)

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
            if self._step is not None:
                self._add_learning_rates(self._step, optimizer)
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
            self._has_trained = True
            self._optimizer_steps += 1
        self.after_optimizer(optimizer)

    def number_of(self, optimizer: torch.optim.Optimizer) -> int:
        """Return which optimizer this is, in the order of their first steps."""
        for number, ref in enumerate(self._optimizers):
            if ref() is optimizer:
                return number
        self._optimizers.append(weakref.ref(optimizer))
        return len(self._optimizers) - 1

    def _add_learning_rates(self, step: Step, optimizer: torch.optim.Optimizer) -> None:
        number = self.number_of(optimizer)
        for group, options in enumerate(optimizer.param_groups):
            rate = options.get("lr")
            if rate is not None:
                path = f"{number}.{group}" if number else str(group)
                step.add(Kind.LEARNING_RATE, "", path, "float", value=float(rate))

    def _add_parameters(self, optimizer: torch.optim.Optimizer, kind: Kind, note: str = "") -> None:
        step = self._step
        if step is None:
            return
        number = self.number_of(optimizer)
        for group, options in enumerate(optimizer.param_groups):
            for position, parameter in enumerate(options["params"]):
                name = self.names.parameter(parameter) or f"optimizer.{number}.{group}.{position}"
                if self._pattern.search(name) is not None:
                    step.add_parameter(kind, name, parameter, note)

    def _add_rest(self, step: Step) -> None:
        """Add what no optimizer has, such as the averages of a BatchNorm or of weights."""
        things = [(Kind.BUFFER, *each) for each in self.names.buffers()]
        if self._has_trained:
            things += [(Kind.PARAMETER, *each) for each in self.names.parameters()]
        for kind, name, tensor in things:
            if self._pattern.search(name) is not None:
                step.add_rest(kind, name, tensor)

    # The operators of the first step

    def _start_inventory(self) -> None:
        self._counting = Inventory()
        self._counting.__enter__()

    def _stop_inventory(self) -> None:
        if self._counting is not None:
            self._counting.__exit__(None, None, None)
            self.inventory = self._counting.as_json()
            self._counting = None


def random_state() -> str:
    """Return a digest of the state of torch's generator on the CPU."""
    with access.unseen():
        return hashlib.sha256(bytes(torch.get_rng_state().numpy())).hexdigest()
