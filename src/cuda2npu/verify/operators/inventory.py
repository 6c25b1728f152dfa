"""The operators that a run uses, with their types and shapes, and where the host waits for the device."""

from __future__ import annotations

import re
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode

from cuda2npu.verify.sites import Site, site

SCHEMA = "cuda2npu-inventory/1"
SHAPES = 8  # of an operator that are kept; of the others only the number
_MOST = 10_000  # different shapes, and calls at one line, that are told apart: memory has a bound
_KEYS = (
    *("CPU", "CUDA", "PrivateUse1"),
    *("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
)
_NOT_COMPUTING = frozenset(("profiler", "cuda2npu_sim", "prim"))  # namespaces
_CONSTANT = re.compile(r"aten::(new_)?(empty|zeros|ones|full|fill|zero|arange|eye|scalar_tensor)(_.*)?")
_VIEWS = frozenset(
    ("aten::_unsafe_view", "aten::_reshape_alias", "aten::lift_fresh")
)  # torch's is_view apart
_COPIES = frozenset(("aten::_to_copy", "aten::copy_", "aten::clone"))
_MASKED = frozenset(
    ("aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index")
)
_WAITING = frozenset(  # that torch's tags don't name
    ("aten::equal", "aten::allclose", "aten::is_nonzero", "aten::unique_dim_consecutive")
)
_Shape = tuple[int, ...]


class Inventory(TorchDispatchMode):  # type: ignore[misc]
    """Notes each operator that runs while it is entered, those of the backward pass included.

    It changes no result, draws no random number and keeps no tensor. A dispatch mode belongs to its thread,
    and to the threads in which autograd goes on for it: what a loader's workers do isn't seen. On the CPU
    there are no transfers, and the state of torch's optimizers, which stays there on an NPU as well, isn't
    counted among the places where the host waits.
    """

    supports_higher_order_operators = True  # torch refuses them otherwise

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self._found: dict[tuple[Any, str], _Found] = {}
        self._syncs: Counter[tuple[str, Site, str]] = Counter()
        self._transfers: dict[tuple[str, str, Site, bool], list[int]] = {}
        self._dynamic: dict[tuple[Any, str, Site, int, int], set[tuple[_Shape, ...]]] = {}
        self._modules: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()
        self._calls: list[_ModuleCall] = []
        self._depth = 0
        self._handles: list[Any] = []
        self._thread = threading.get_ident()

    def __enter__(self) -> Inventory:
        if not self._depth:
            self._thread = threading.get_ident()
            self._handles = [
                nn.modules.module.register_module_forward_pre_hook(self._module_begins),
                nn.modules.module.register_module_forward_hook(self._module_ends, always_call=True),
                register_optimizer_step_post_hook(lambda *_: self.step()),
            ]
        self._depth += 1
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._depth -= 1
        if not self._depth:
            for handle in self._handles:
                handle.remove()
            self._calls.clear()

    def step(self) -> None:
        """Count a step; the step of an optimizer counts by itself."""
        self.steps += 1

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):  # as flex_attention, which calls others
            return func(*args, **kwargs)
        operator = _operator(func)
        if operator.namespace in _NOT_COMPUTING or any(issubclass(kind, FakeTensor) for kind in types):
            return func(*args, **kwargs)
        inputs = list(_tensors((*args, *kwargs.values())))
        if torch.is_inference_mode_enabled() and operator.is_taken_apart(inputs):
            # Elsewhere autograd has taken it apart before it comes here.
            with self:
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        shapes = tuple(_shape(tensor) for tensor in inputs)  # before the call: resize_ and others change them
        result = func(*args, **kwargs)
        self._note(func, operator, args, kwargs, inputs, shapes, list(_tensors((result,))))
        return result

    def _note(
        self,
        func: Any,
        operator: _Operator,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        inputs: list[torch.Tensor],
        shapes: tuple[_Shape, ...],
        outputs: list[torch.Tensor],
    ) -> None:
        device = _device((*inputs, *outputs))
        here = site(self._thread)
        backward = torch._C._current_autograd_node() is not None
        found = self._found.get((func, device))
        if found is None:
            found = self._found[func, device] = _Found(here)
        found.note((*inputs, *outputs), shapes, here, backward)
        if operator.is_copy:
            self._note_transfer(inputs, outputs, here, bool(_non_blocking(operator, args, kwargs)))
        if operator.waits(inputs, kwargs) and not (device == "cpu" and here.by_optimizer):
            self._syncs[operator.name, here, device] += 1
            found.from_data = found.from_data or operator.is_dynamic
        if not backward and not operator.is_view and not operator.is_copy and inputs:
            self._note_output(func, operator, device, here, outputs)

    def _note_transfer(
        self, inputs: list[torch.Tensor], outputs: list[torch.Tensor], here: Site, non_blocking: bool
    ) -> None:
        source, to = inputs[-1], outputs[0]  # of copy_(self, src) the last, and self comes back
        if source.device.type == to.device.type:
            return
        counts = self._transfers.setdefault(
            (source.device.type, to.device.type, here, not non_blocking), [0, 0]
        )
        counts[0] += 1
        counts[1] += source.numel() * source.element_size()

    def _note_output(
        self, func: Any, operator: _Operator, device: str, here: Site, outputs: list[torch.Tensor]
    ) -> None:
        """Note the shapes that come of one place.

        A line of ``nn.Sequential`` or of a loop runs an operator on several shapes that are the same in each
        step. So a place within a module is the module, the line, and how many times the operator was there
        in this call of the module; outside of modules it is the line, of operators that make a new tensor.
        """
        if self._calls:
            call = self._calls[-1]
            number = call.seen[func, here]
            call.seen[func, here] += 1
            place = (func, device, here, call.number, number)
        elif here.by_optimizer or operator.is_mutable:
            return
        else:
            place = (func, device, here, 0, 0)
        shapes = self._dynamic.get(place)
        if shapes is None:
            if len(self._dynamic) >= _MOST:
                return
            shapes = self._dynamic[place] = set()
        if len(shapes) < _MOST:
            shapes.add(tuple(map(_shape, outputs)))

    def _module_begins(self, module: nn.Module, arguments: Any) -> None:
        number = self._modules.setdefault(module, len(self._modules) + 1)
        self._calls.append(_ModuleCall(number))

    def _module_ends(self, module: nn.Module, arguments: Any, result: Any) -> None:
        number = self._modules.get(module)
        while self._calls and self._calls.pop().number != number:
            pass

    def as_json(self) -> dict[str, Any]:
        """Return what was seen, of which the classes for a target are made (:mod:`.classes`).

        ::

            {"schema": "cuda2npu-inventory/1", "torch": "2.13.0", "device": "npu", "steps": 2,
             "operators": [{"name": "aten::add", "overload": "Tensor", "device": "npu", "calls": 12,
               "backward": 4,                  of the calls
               "dtypes": {"float32": "model.py:12"},   of inputs and outputs, and where first seen
               "shapes": [[[8, 64], [64]]],    of the inputs, a list for each call that differs
               "more_shapes": 0,               how many others there were
               "source": "model.py:12",        where it was first seen
               "computes": true,               it makes no view, no copy and no constant
               "kernels": ["CPU"],             keys of torch's dispatcher for which it has a kernel
               "from_data": false}],           its output's shape depends on the data
             "syncs": [{"operator": "aten::nonzero", "device": "npu", "source": "model.py:9", "calls": 2}],
             "transfers": [{"from": "cpu", "to": "npu", "source": "train.py:7", "blocking": true,
               "calls": 2, "bytes": 1024}],
             "dynamic": [{"operator": "aten::addmm", "device": "npu", "source": "model.py:12",
               "shapes": [[[8, 4]]], "more_shapes": 0, "from_data": false}]}

        ``device`` is the accelerator that computed, or ``cpu``. A place is ``file:line``, or empty.
        """
        devices: Counter[str] = Counter()
        for (_, device), found in self._found.items():
            devices[device] += 0 if device in ("cpu", "meta") else found.calls
        return {
            "schema": SCHEMA,
            "torch": torch.__version__,
            "device": max(devices, key=devices.__getitem__) if any(devices.values()) else "cpu",
            "steps": self.steps,
            "operators": [
                _operator(func).as_json(found, device) for (func, device), found in self._found.items()
            ],
            "syncs": [
                {"operator": name, "device": device, "source": str(where), "calls": calls}
                for (name, where, device), calls in self._syncs.items()
            ],
            "transfers": [
                {
                    "from": source,
                    "to": to,
                    "source": str(where),
                    "blocking": blocking,
                    "calls": calls,
                    "bytes": size,
                }
                for (source, to, where, blocking), (calls, size) in self._transfers.items()
            ],
            "dynamic": list(self._dynamic_places()),
        }

    def _dynamic_places(self) -> Iterator[dict[str, Any]]:
        merged: dict[tuple[Any, str, str], set[tuple[_Shape, ...]]] = {}
        for (func, device, here, _, _), shapes in self._dynamic.items():
            if len(shapes) > 1:
                merged.setdefault((func, device, str(here)), set()).update(shapes)
        for (func, device, where), shapes in merged.items():
            yield {
                "operator": _operator(func).name,
                "device": device,
                "source": where,
                "shapes": [_lists(each) for each in sorted(shapes)[:SHAPES]],
                "more_shapes": max(0, len(shapes) - SHAPES),
                "from_data": self._found[func, device].from_data,
            }


@dataclass
class _ModuleCall:
    """A call of a module that is going on; ``seen`` counts its operators by line."""

    number: int
    seen: Counter[tuple[Any, Site]] = field(default_factory=Counter)


@dataclass
class _Found:
    """What was seen of an operator on a device."""

    first: Site
    calls: int = 0
    backward: int = 0
    dtypes: dict[torch.dtype, Site] = field(default_factory=dict)
    shapes: dict[tuple[_Shape, ...], None] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)  # hashes of the shapes that aren't kept
    from_data: bool = False

    def note(
        self,
        tensors: Iterable[torch.Tensor],
        shapes: tuple[_Shape, ...],
        here: Site,
        backward: bool,
    ) -> None:
        self.calls += 1
        self.backward += backward
        for tensor in tensors:
            self.dtypes.setdefault(tensor.dtype, here)
        if shapes in self.shapes:
            return
        if len(self.shapes) < SHAPES:
            self.shapes[shapes] = None
        elif len(self.others) < _MOST:
            self.others.add(hash(shapes))


@dataclass(frozen=True)
class _Operator:
    """What torch says of an operator.

    :param kernels: those of the dispatcher's keys for which it has a kernel.
    :param is_constant: whether what it makes doesn't depend on the values of its inputs, if it has any.
    :param is_dynamic: whether its output's shape depends on the data.
    :param reads_data: whether it hands data to the host, as ``item`` does.
    """

    name: str
    overload: str
    kernels: tuple[str, ...]
    is_view: bool
    is_mutable: bool
    is_constant: bool
    is_dynamic: bool
    reads_data: bool

    @property
    def namespace(self) -> str:
        return self.name.partition("::")[0]

    @property
    def is_copy(self) -> bool:
        return self.name in _COPIES

    @property
    def computes(self) -> bool:
        return not (self.is_view or self.is_copy or self.is_constant)

    def is_taken_apart(self, inputs: Sequence[torch.Tensor]) -> bool:
        """Whether it consists of others on the device of ``inputs``."""
        key = {"cpu": "CPU", "cuda": "CUDA"}.get(_device(inputs), "PrivateUse1")
        return "CompositeImplicitAutograd" in self.kernels and key not in self.kernels

    def waits(self, inputs: Sequence[torch.Tensor], kwargs: Mapping[str, Any]) -> bool:
        """Whether the host has to wait for the device: for the data, or for the output's size."""
        if self.name in _MASKED:
            return any(tensor.dtype in (torch.bool, torch.uint8) for tensor in inputs[1:])
        if kwargs.get("output_size") is not None:  # of repeat_interleave
            return False
        return self.is_dynamic or self.reads_data or self.name in _WAITING

    def as_json(self, found: _Found, device: str) -> dict[str, Any]:
        dtypes = sorted((str(dtype).replace("torch.", ""), str(here)) for dtype, here in found.dtypes.items())
        return {
            "name": self.name,
            "overload": self.overload,
            "device": device,
            "calls": found.calls,
            "backward": found.backward,
            "dtypes": dict(dtypes),
            "shapes": [_lists(shapes) for shapes in found.shapes],
            "more_shapes": len(found.others),
            "source": str(found.first),
            "computes": self.computes,
            "kernels": list(self.kernels),
            "from_data": found.from_data,
        }


@cache
def _operator(func: Any) -> _Operator:
    name, overload = func._schema.name, func._schema.overload_name
    full = f"{name}.{overload}" if overload else name
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return _Operator(
        name=name,
        overload=overload,
        kernels=tuple(key for key in _KEYS if has(full, key)),
        is_view=func.is_view or name in _VIEWS,
        is_mutable=func._schema.is_mutable,
        is_constant=_CONSTANT.fullmatch(name) is not None,
        is_dynamic=torch.Tag.dynamic_output_shape in func.tags,
        reads_data=torch.Tag.data_dependent_output in func.tags,
    )


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _shape(tensor: torch.Tensor) -> _Shape:
    return () if tensor.is_nested else tuple(tensor.shape)


def _device(tensors: Iterable[torch.Tensor]) -> str:
    """Return the type of the device that computes; a number may come along on the CPU."""
    kinds = {tensor.device.type for tensor in tensors}
    return next(iter(sorted(kinds - {"cpu"})), "cpu")


def _non_blocking(operator: _Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if operator.name == "aten::copy_" and len(args) > 2:
        return args[2]
    return kwargs.get("non_blocking", False)


def _lists(shapes: Iterable[_Shape]) -> list[list[int]]:
    return [list(shape) for shape in shapes]
