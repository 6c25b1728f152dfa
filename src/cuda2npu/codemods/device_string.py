"""String literals that are devices, backends or tensor types."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.flow import Flow, Use
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, string_value

DEVICE = "NPU003"
COMPARED = "NPU006"
SAVED = "NPU007"
TENSOR_TYPE = "NPU008"
AMP = "NPU202"
BACKEND = "NPU301"
PINNED = "NPU306"

# "cuda", "cuda:0", and what a number is put into: "cuda:", "cuda:%d", "cuda:{}".
_DEVICE = re.compile(r"cuda(?::(?:\d+|%[ds]|\{[^{}]*\})?)?")
# "nccl", and "cpu:gloo,cuda:nccl".
_BACKENDS = re.compile(r"nccl|(?:\w+:\w+,)*cuda:nccl(?:,\w+:\w+)*")
_TENSOR_TYPE = re.compile(r"torch\.cuda\.[A-Z]\w*(?:Tensor|Storage)")
_PREFIX = re.compile(r"[rRbBuUfF]*(?:'''|\"\"\"|'|\")")
_AMP_CALLS = ("autocast", "custom_fwd", "custom_bwd", "GradScaler")


class DeviceString(Codemod):
    """Replaces the words where the string is used as what it says."""

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        if node in self.unit.claimed or not isinstance(node.evaluated_value, str):
            return
        whole = self.whole(node)
        if whole is None:
            return
        prefix = _PREFIX.match(node.value)
        start = self.spans[node].start + (prefix.end() if prefix else 0)
        if _DEVICE.fullmatch(whole):
            self.decide(node, Span(start, start + 4), "npu", self.unit.devices)
        elif _BACKENDS.fullmatch(whole):
            body = node.evaluated_value
            after = body.replace("cuda:nccl", "npu:hccl") if ":" in body else "hccl"
            self.decide(node, Span(start, start + len(body)), after, self.unit.backends)
        elif _TENSOR_TYPE.fullmatch(whole):
            self.decide_tensor_type(node, whole, Span(start, start + len("torch.cuda")))
        elif whole in ("torch.cuda", "torch.cuda.") and self.asks_about_type(node):
            self.unit.replace(
                TENSOR_TYPE, Span(start, start + len("torch.cuda")), "torch.npu", at=node, npu=False
            )

    def whole(self, node: cst.SimpleString) -> str | None:
        """Return the value of the literal that ``node`` begins; None where it is a later piece."""
        value = node.evaluated_value
        piece: cst.CSTNode = node
        parent = self.names.parents[node]
        while isinstance(parent, cst.ConcatenatedString):
            if parent.left is not piece or not isinstance(parent.evaluated_value, str):
                return None
            value, piece, parent = parent.evaluated_value, parent, self.names.parents[parent]
        return value if isinstance(value, str) else None

    def visit_Dict(self, node: cst.Dict) -> None:
        """A table for map_location: its keys name the devices that were saved."""
        keys = [
            e.key for e in node.elements if isinstance(e, cst.DictElement) and self.is_saved_device(e.key)
        ]
        if keys and self.maps_locations(node):
            for key in keys:
                self.unit.keep(key, "checkpoint-tag", SAVED)
                self.unit.claimed.add(key)
            self.unit.report(SAVED, node)

    def is_saved_device(self, key: cst.BaseExpression) -> bool:
        return self.spans.text(key).lstrip("rbfuRBFU").startswith(('"cuda', "'cuda"))

    def maps_locations(self, node: cst.Dict) -> bool:
        """Whether the dict is given to torch.load, directly or by way of a variable."""
        places: list[cst.CSTNode] = [node]
        assign = self.names.parents[node]
        cell = (
            self.unit.devices.cells.of(assign.targets[0].target) if isinstance(assign, cst.Assign) else None
        )
        if cell is not None:
            places += self.unit.devices.cells.reads(cell)
        for place in places:
            arg = self.names.parents[place]
            call = self.names.parents.get(arg)
            if (
                isinstance(arg, cst.Arg)
                and isinstance(call, cst.Call)
                and argument(call, 1, "map_location") is arg
            ):
                return True
        return False

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        """``f"cuda:{i}"``: a device if nothing but the number is put in."""
        if node in self.unit.claimed or not node.parts:
            return
        first, *rest = node.parts
        if not isinstance(first, cst.FormattedStringText) or first.value not in ("cuda", "cuda:"):
            return
        if all(isinstance(part, cst.FormattedStringExpression) for part in rest):
            start = self.spans[first].start
            self.decide(node, Span(start, start + 4), "npu", self.unit.devices)

    def decide(self, node: cst.BaseExpression, span: Span, after: str, flow: Flow) -> None:
        use = flow.use_of(node)
        if use in (Use.UNKNOWN, Use.OTHER) or self.stands_beside_rocm(node):
            return
        if use is Use.GUESS and not self.unit.uses_torch:
            return
        ours = self.unit.uses_torch or (flow is self.unit.backends and not self.unit.uses_foreign)
        sure = use is Use.PROVEN or (use is Use.NAMED and ours)
        code = BACKEND if flow is self.unit.backends else self.code_for(node)
        # A comparison asks about a device that something else has made.
        self.unit.replace(code, span, after, at=node, npu=code != COMPARED, unsafe=not sure)

    def stands_beside_rocm(self, node: cst.BaseExpression) -> bool:
        """Whether the string is one of several makes of hardware: PyTorch's device is "cuda" for both."""
        element = self.names.parents[node]
        container = self.names.parents.get(element)
        if not isinstance(container, (cst.Tuple, cst.List, cst.Set)):
            return False
        return any(string_value(other.value) in ("rocm", "hip") for other in container.elements)

    def code_for(self, node: cst.BaseExpression) -> str:
        """Return the rule that tells best what kind of place this is."""
        parent = self.names.parents[node]
        while isinstance(
            parent, (cst.Element, cst.Tuple, cst.List, cst.Set, cst.MatchOrElement, cst.MatchOr)
        ):
            parent = self.names.parents[parent]
        if isinstance(parent, (cst.Comparison, cst.ComparisonTarget, cst.MatchValue)):
            return COMPARED
        if isinstance(parent, cst.Arg):
            if parent.keyword is not None and parent.keyword.value == "pin_memory_device":
                return PINNED
            call = self.names.parents[parent]
            if isinstance(call, cst.Call) and (dotted(call.func) or "").endswith(_AMP_CALLS):
                return AMP
        return DEVICE

    def decide_tensor_type(self, node: cst.SimpleString, name: str, span: Span) -> None:
        """The name of a tensor type: unmistakable, unless it stands in a text for people."""
        parent = self.names.parents[node]
        if isinstance(parent, cst.Arg) and not self.takes_type(parent):
            return
        mapping = self.unit.mapping(name)
        if mapping is not None and mapping.to:
            self.unit.replace(TENSOR_TYPE, span, "torch.npu", at=node, note=mapping.row.note)
        elif mapping is not None:
            self.unit.report(TENSOR_TYPE, node, note=mapping.row.note)

    def asks_about_type(self, node: cst.SimpleString) -> bool:
        """``x.type().startswith("torch.cuda")``, ``"torch.cuda" in x.type()``."""
        parent = self.names.parents[node]
        call = self.names.parents.get(parent)
        asked: cst.CSTNode | None = None
        if isinstance(parent, cst.Comparison):
            asked = parent.comparisons[0].comparator
        elif (
            isinstance(parent, cst.Arg)
            and isinstance(call, cst.Call)
            and isinstance(call.func, cst.Attribute)
        ):
            asked = call.func.value
        return (
            isinstance(asked, cst.Call)
            and isinstance(asked.func, cst.Attribute)
            and asked.func.attr.value == "type"
        )

    def takes_type(self, arg: cst.Arg) -> bool:
        call = self.names.parents[arg]
        name = (dotted(call.func) or "") if isinstance(call, cst.Call) else ""
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
            name = call.func.attr.value
        return name.rpartition(".")[2] in ("type", "startswith", "endswith", "get", "replace")
