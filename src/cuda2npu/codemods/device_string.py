"""String literals that are devices, backends or tensor types."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.flow import Flow, Use
from cuda2npu.rewrite.flow.cells import Cell
from cuda2npu.rewrite.flow.origins import compared_with, is_from, literals_behind
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, start_of_text, string_value, written

DEVICE = "NPU003"
COMPARED = "NPU006"
SAVED = "NPU007"
TENSOR_TYPE = "NPU008"
AMP = "NPU202"
BACKEND = "NPU301"
PINNED = "NPU306"
PIECES = "NPU017"
OPTION = "NPU011"

# "cuda", "cuda:0", and what a number is put into: "cuda:", "cuda:%d", "cuda:{}".
_DEVICE = re.compile(r"cuda(?::(?:\d+|%[dis]|\{[^{}]*\})?)?")
# "nccl", and "cpu:gloo,cuda:nccl".
_BACKENDS = re.compile(r"nccl|(?:\w+:\w+,)*cuda:nccl(?:,\w+:\w+)*")
_TENSOR_TYPE = re.compile(r"torch\.cuda\.[A-Z]\w*(?:Tensor|Storage)")
_AMP_CALLS = ("autocast", "custom_fwd", "custom_bwd", "GradScaler")
# Expressions that a text may be put together with.
_MAKE_TEXT = (
    cst.Arg, cst.Attribute, cst.BinaryOperation, cst.Call, cst.ConcatenatedString, cst.Element,
    cst.FormattedString, cst.FormattedStringExpression, cst.List, cst.Subscript, cst.Tuple,
)  # fmt: skip


class DeviceString(Codemod):
    """Replaces the words where the string is used as what it says."""

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        if node in self.unit.claimed or not isinstance(node.evaluated_value, str):
            return
        whole = self.whole(node)
        if whole is None:
            return
        start = self.spans[node].start + start_of_text(node)
        if _DEVICE.fullmatch(whole):
            self.decide(node, self.word(node, start, "cuda"), "npu", self.unit.devices)
        elif whole.lower() == "nccl":  # torch takes any case
            after = "HCCL" if whole.isupper() else "hccl"
            self.decide(node, self.word(node, start, whole), after, self.unit.backends)
        elif _BACKENDS.fullmatch(whole):
            span = self.word(node, start, whole)
            self.decide(node, span, whole.replace("cuda:nccl", "npu:hccl"), self.unit.backends)
        elif _TENSOR_TYPE.fullmatch(whole) and written(node) is not None:
            self.decide_tensor_type(node, whole, Span(start, start + len("torch.cuda")))
        elif (written(node) or "") in ("torch.cuda", "torch.cuda.") and self.asks_about_type(node):
            span = Span(start, start + len("torch.cuda"))
            self.unit.replace(TENSOR_TYPE, span, "torch.npu", at=node, npu=False)

    def word(self, node: cst.SimpleString, start: int, word: str) -> Span | None:
        """Return where the literal's ``word`` stands; None if it is spelt with escapes or in pieces."""
        return Span(start, start + len(word)) if (written(node) or "").startswith(word) else None

    def whole(self, node: cst.SimpleString) -> str | None:
        """Return the value of the literal that ``node`` begins; None where it is a later piece."""
        value = node.evaluated_value
        piece: cst.CSTNode = node
        parent = self.names.parents[node]
        while isinstance(parent, cst.ConcatenatedString):
            if parent.left is not piece:
                return None
            if parent.evaluated_value is not None:
                value = parent.evaluated_value
            elif value not in ("cuda", "cuda:") or not self.puts_in_numbers(parent.right):
                return None
            piece, parent = parent, self.names.parents[parent]
        return value if isinstance(value, str) else None

    def puts_in_numbers(self, node: cst.BaseExpression) -> bool:
        """Whether a piece that follows ``"cuda:"`` is an f-string that adds nothing but the number."""
        if not isinstance(node, cst.FormattedString):
            return False
        texts = [part.value for part in node.parts if isinstance(part, cst.FormattedStringText)]
        return all(text == ":" for text in texts)

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

    def decide(self, node: cst.BaseExpression, span: Span | None, after: str, flow: Flow) -> None:
        use = flow.use_of(node)
        if use is Use.UNKNOWN and self.is_part_of_device(node, flow):
            self.unit.report(PIECES, node)
        if use in (Use.UNKNOWN, Use.OTHER) or self.stands_beside_rocm(node):
            return
        if use is Use.GUESS and not self.unit.uses_torch:
            return
        ours = self.unit.uses_torch or (flow is self.unit.backends and not self.unit.uses_foreign)
        sure = (use is Use.PROVEN or (use is Use.NAMED and ours)) and self.other_side_in_sight(node, flow)
        sure = sure and not self.is_held(node, flow)
        code = BACKEND if flow is self.unit.backends else self.code_for(node)
        if span is None:
            self.unit.report(PIECES, node)
            return
        if self.is_removed(node):
            self.remove_both(node)
            return
        # A comparison asks about a device that something else has made.
        self.unit.replace(code, span, after, at=node, npu=code != COMPARED, unsafe=not sure)

    def is_held(self, node: cst.BaseExpression, flow: Flow) -> bool:
        """Whether a literal has to wait for what another file holds back.

        In a file that doesn't work with torch nothing but the name says that ``args.device`` is torch's.
        """
        if is_from(flow, node, self.unit.index.held):
            return True
        others = list(compared_with(flow, node))
        if any(self.is_typed(other) or self.is_switched_off(other) for other in others):
            return True
        return not self.unit.uses_torch and flow is self.unit.devices and self.is_known_by_name(node)

    def is_switched_off(self, node: cst.CSTNode) -> bool:
        """Whether a value is made of a device that a comment keeps as it is."""
        if "cuda2npu:" not in self.unit.text:
            return False
        covers = self.unit.suppressions.covers
        return any(
            covers(DEVICE, self.spans[literal].start)
            for literal in literals_behind(self.unit.devices, node)
            if _DEVICE.fullmatch(written(literal) or "")
        )

    def is_typed(self, node: cst.CSTNode) -> bool:
        """Whether a value is nothing but a word of the command line, which goes on being the old one."""
        cells = self.unit.devices.cells
        cell = cells.of(node) if isinstance(node, cst.Name) else None
        values = list(cells.values(cell)) if cell is not None else [node]
        words = (value.value for value in values if isinstance(value, cst.Subscript))
        typed = [word for word in words if "sys.argv" in self.names.qualified(word)]
        return len(typed) == len(values) > 0

    def is_known_by_name(self, node: cst.BaseExpression) -> bool:
        """Whether a literal is compared with ``x.device``, which is called so and isn't given to torch."""
        flow = self.unit.devices
        others = list(compared_with(flow, node))
        owned = [other for other in others if isinstance(other, cst.Attribute)]
        return any(
            other.attr.value in flow.topic.attributes
            and flow.of_cell(Cell("member", other.attr.value)) is not Use.PROVEN
            for other in owned
        )

    def other_side_in_sight(self, node: cst.BaseExpression, flow: Flow) -> bool:
        """Whether the values that ``node`` is compared with are converted where it is: both or neither."""
        parent = self.names.parents[node]
        if isinstance(parent, cst.Comparison):
            return all(flow.is_in_sight(target.comparator) for target in parent.comparisons)
        if isinstance(parent, cst.ComparisonTarget):
            comparison = self.names.parents[parent]
            return isinstance(comparison, cst.Comparison) and flow.is_in_sight(comparison.left)
        return True

    def is_removed(self, node: cst.BaseExpression) -> bool:
        """Whether ``name.replace("cuda:", "")`` takes it out of a name that comes from out of sight."""
        arg = self.names.parents[node]
        call = self.names.parents.get(arg)
        if not isinstance(call, cst.Call) or len(call.args) != 2 or call.args[0] is not arg:
            return False
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "replace":
            return False
        return string_value(call.args[1].value) == "" and not self.is_given_here(call.func.value)

    def is_given_here(self, node: cst.BaseExpression) -> bool:
        """Whether a CUDA device is among the values that this file gives to the variable in ``node``."""
        name: cst.CSTNode = node
        while isinstance(name, (cst.Call, cst.Attribute)):
            if isinstance(name, cst.Attribute):
                name = name.value
            else:
                name = name.args[0].value if dotted(name.func) == "str" and name.args else name.func
        cells = self.unit.devices.cells
        cell = cells.of(name)
        values = cells.values(cell) if cell is not None else ()
        return any((string_value(value) or "").startswith("cuda") for value in values)

    def remove_both(self, node: cst.BaseExpression) -> None:
        """The name may come from a command line: take out the new prefix, and the old one, too."""
        call = self.names.enclosing(node, cst.Call)
        if call is None or not isinstance(call.func, cst.Attribute):
            return
        end = self.spans.whole(call.func.value).end
        new = self.unit.text[end : self.spans[call].end].replace("cuda", "npu")
        if new not in self.spans.text(call.func.value):
            self.unit.replace(OPTION, Span(end, end), new, at=node, npu=False)
        self.unit.keep(node, "old-word", OPTION)

    def is_part_of_device(self, node: cst.BaseExpression, flow: Flow) -> bool:
        """Whether a text is made of ``node``, in some way that isn't followed, that is used as a device."""
        child: cst.CSTNode = node
        for parent in self.names.ancestors(node):
            if not isinstance(parent, _MAKE_TEXT) or (
                isinstance(parent, cst.Subscript) and child is not parent.value
            ):
                return False
            if isinstance(parent, cst.Arg) and flow.use_of(child) is Use.PROVEN:
                return True
            child = parent
        return False

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
