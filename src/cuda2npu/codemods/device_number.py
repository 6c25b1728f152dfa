"""Devices that are given as a bare number."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.bytes_test import NUMBERS_MEAN_NPU
from cuda2npu.rewrite.kinds import Kind
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument

NUMBER = "NPU004"
DEVICE_ID = "NPU305"
# init_process_group takes a number for device_id from here on; before, only a torch.device.
DEVICE_ID_TAKES_NUMBER = (2, 9)
_NOT_INSIDE = re.compile(r"[\"'\\#\r\n]")


class DeviceNumber(Codemod):
    """Spells the device out where the target would take a bare number for CUDA."""

    def visit_Call(self, node: cst.Call) -> None:
        arg = argument(node, None, "device_id")
        if arg is not None and self.is_function(node, "init_process_group"):
            self.device_id(arg)
        if self.unit.version >= NUMBERS_MEAN_NPU:
            return
        if arg is not None and self.is_function(node, "FullyShardedDataParallel"):
            self.number(arg)
        places = isinstance(node.func, cst.Attribute) and node.func.attr.value == "to"
        makes = "torch.device" in self.names.qualified(node.func) and len(node.args) == 1
        if places and isinstance(node.func, cst.Attribute):
            places = self.unit.kinds.of(node.func.value).kind in (Kind.TORCH, Kind.UNKNOWN)
        if node.args and (places or makes):
            self.number(node.args[0])
        elif any(name.startswith("torch.") for name in self.names.qualified(node.func)):
            given = argument(node, None, "device")
            if given is not None:
                self.number(given)

    def is_function(self, node: cst.Call, name: str) -> bool:
        return any(q.startswith("torch.") and q.endswith(f".{name}") for q in self.names.qualified(node.func))

    def number(self, arg: cst.Arg) -> None:
        if arg.star or (arg.keyword is not None and arg.keyword.value not in ("device", "device_id")):
            return
        value = arg.value
        text = self.spans.text(value)
        if isinstance(value, cst.Integer):
            self.unit.replace(NUMBER, self.spans[value], f'"npu:{text}"', at=arg)
        elif self.is_number(value):
            start, end = self.spans.whole(value)
            # Before Python 3.12 an f-string takes no quote of its own, backslash or comment inside.
            before, after = ('"npu:%d" % (', ")") if _NOT_INSIDE.search(text) else ('f"npu:{', '}"')
            group = f"number:{start}"
            self.unit.replace(NUMBER, Span(start, start), before, at=arg, group=group)
            self.unit.replace(NUMBER, Span(end, end), after, at=arg, group=group, site=False)

    def device_id(self, arg: cst.Arg) -> None:
        if self.is_number(arg.value):
            start, end = self.spans.whole(arg.value)
            group = f"device_id:{start}"
            torch = self.unit.name_of("torch", arg)
            if torch is not None:
                self.unit.replace(
                    DEVICE_ID, Span(start, start), f'{torch}.device("npu", ', at=arg, group=group
                )
                self.unit.replace(DEVICE_ID, Span(end, end), ")", at=arg, group=group, site=False)
                return
        unclear = isinstance(arg.value, (cst.Name, cst.Attribute)) and not self.is_device_object(arg.value)
        if unclear and self.unit.version < DEVICE_ID_TAKES_NUMBER:
            self.unit.report(DEVICE_ID, arg)

    def is_number(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` visibly is a number."""
        if isinstance(node, cst.Integer):
            return True
        if isinstance(node, cst.Call):
            name = node.func
            if isinstance(name, cst.Name) and name.value == "int":
                return True
            found = self.names.qualified(name)
            return bool(found & {"torch.cuda.current_device", "torch.distributed.get_rank"})
        if isinstance(node, cst.BinaryOperation):
            return isinstance(node.operator, cst.Modulo) and self.is_number(node.left)
        if isinstance(node, cst.Name):
            values = [binding.value for binding in self.names.lookup(node)]
            return bool(values) and all(v is not None and v is not node and self.is_number(v) for v in values)
        return False
