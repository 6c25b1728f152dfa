"""Reductions between processes of a type that HCCL doesn't reduce."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import argument
from cuda2npu.rewrite.unit import Unit

_DOUBLE = {"torch.float64", "torch.double"}
_CUDA_DOUBLE = "torch.cuda.DoubleTensor"
_KEEP_DTYPE = {"cuda", "npu", "clone", "contiguous", "detach"}


class Reductions(Codemod):
    """Reports the tensor, if it visibly is float64 and isn't left on the CPU, where gloo reduces it."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("reductions")
        self.last_names = {name.rpartition(".")[2] for name in self.rows}

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Attribute) and node.func.attr.value not in self.last_names:
            return  # a cheap test before the exact one
        for name in self.names.qualified(node.func) & self.rows.keys():
            tensor = argument(node, 0, "output" if "scatter" in name else "tensor")
            if tensor is not None and self.is_double_on_device(tensor.value):
                rule, row = self.rows[name]
                self.unit.report(rule.code, tensor, note=row.note)

    def is_double_on_device(self, node: cst.BaseExpression) -> bool:
        """Whether all values that ``node`` may have are made float64, and are placed on a device."""
        if isinstance(node, cst.Name):
            made = [binding.value for binding in self.names.lookup(node)]
            return bool(made) and all(isinstance(value, cst.Call) and self.is_made(value) for value in made)
        return isinstance(node, cst.Call) and self.is_made(node)

    def is_made(self, node: cst.Call) -> bool:
        calls = list(_chain(node))
        return self.is_double(calls) and any(self.places(call) for call in calls)

    def is_double(self, calls: list[cst.Call]) -> bool:
        """Whether the last of the chained calls that decides about the type makes it float64."""
        for call in calls:
            dtype = argument(call, None, "dtype")
            names = self.names.qualified(call.func)
            first = self.names.qualified(call.args[0].value) if call.args else frozenset()
            if (dtype is not None and self.names.qualified(dtype.value) & _DOUBLE) or first & _DOUBLE:
                return True
            if names & {"torch.DoubleTensor", _CUDA_DOUBLE} or _method(call) == "double":
                return True
            if dtype is not None or not (_method(call) in _KEEP_DTYPE or self.places(call)):
                return False
        return False

    def places(self, call: cst.Call) -> bool:
        """Whether a call puts its result somewhere else than on the CPU."""
        place = argument(call, None, "device")
        if place is None and _method(call) == "to" and call.args:
            place = call.args[0]
            if any(name.startswith("torch.") for name in self.names.qualified(place.value)):
                return False  # a type
        if place is not None:
            return "cpu" not in self.spans.text(place.value)
        return _method(call) in ("cuda", "npu") or _CUDA_DOUBLE in self.names.qualified(call.func)


def _chain(node: cst.Call) -> Iterator[cst.Call]:
    """Yield the calls in ``make().a().b()``, the last one first."""
    inner: cst.BaseExpression = node
    while isinstance(inner, cst.Call):
        yield inner
        if not isinstance(inner.func, cst.Attribute):
            return
        inner = inner.func.value


def _method(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
