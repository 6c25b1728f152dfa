"""String literals that are devices, backends or tensor types."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.flow import Flow, Use
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted

DEVICE = "NPU003"
COMPARED = "NPU006"
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
        if use in (Use.UNKNOWN, Use.OTHER):
            return
        if use is Use.GUESS and not self.unit.uses_torch:
            return
        ours = self.unit.uses_torch or (flow is self.unit.backends and not self.unit.uses_foreign)
        sure = use is Use.PROVEN or (use is Use.NAMED and ours)
        code = BACKEND if flow is self.unit.backends else self.code_for(node)
        # A comparison asks about a device that something else has made.
        self.unit.replace(code, span, after, at=node, npu=code != COMPARED, unsafe=not sure)

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

    def takes_type(self, arg: cst.Arg) -> bool:
        call = self.names.parents[arg]
        name = (dotted(call.func) or "") if isinstance(call, cst.Call) else ""
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
            name = call.func.attr.value
        return name.rpartition(".")[2] in ("type", "startswith", "endswith", "get", "replace")
