"""Resizing in a mode for which the target has no kernel."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from cuda2npu.codemods.arguments import droppable
from cuda2npu.codemods.calls import Calls, Pattern
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, start_of_text, string_value

_NEAREST = "nearest"
# Arguments of torch.nn.functional.interpolate that it refuses together with the mode nearest: their
# positions, and the values with which it doesn't.
_NOT_WITH_NEAREST = {"antialias": (6, {"False", "None"}), "align_corners": (4, {"None"})}
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


class Resize(Calls):
    """Computes it on the CPU and brings the result back, or takes the mode nearest, as the user wants it.

    The rows are those of :class:`.Calls`, about the argument ``mode``.
    """

    CODEMOD: ClassVar[str] = "resize"

    def check(self, call: cst.Call, pattern: Pattern) -> None:
        given = argument(call, 0, "input")
        if pattern.position == 3 and given is not None and self.is_on_cpu(given.value):
            return
        super().check(call, pattern)

    def changed(self, call: cst.Call, arg: cst.Arg, pattern: Pattern) -> bool:
        how = self.unit.settings.interpolate
        if how == "nearest":
            return self.take_nearest(call, arg, pattern)
        given = argument(call, 0, "input")
        is_function = pattern.position == 3  # torch.nn.Upsample has no input among its arguments
        return how == "cpu" and is_function and given is not None and self.go_by_cpu(call, given, pattern)

    def is_on_cpu(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` visibly is a tensor on the CPU, as after this very rewrite."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return False
        to_cpu = bool(node.args) and string_value(node.args[0].value) == "cpu"
        return node.func.attr.value == "cpu" or (node.func.attr.value == "to" and to_cpu)

    def go_by_cpu(self, call: cst.Call, given: cst.Arg, pattern: Pattern) -> bool:
        """``f(x, …)`` becomes ``f(x.cpu(), …).to(x.device)``; the gradient takes the same way back."""
        code, note = pattern.rule.code, pattern.row.note
        group = f"resize:{self.spans[call].start}"
        start, end = self.spans.whole(given.value)
        is_atom = isinstance(given.value, _ATOMS) or self.unit.text[start] == "("
        if not is_atom:
            self.unit.replace(code, Span(start, start), "(", at=call, npu=False, group=group, site=False)
        there = ".cpu()" if is_atom else ").cpu()"
        self.unit.replace(code, Span(end, end), there, at=call, npu=False, note=note, group=group)
        name = dotted(given.value)  # asking anything else for its device could compute it twice
        back, after = f".to({name}.device)" if name else ".npu()", self.spans[call].end
        self.unit.replace(code, Span(after, after), back, at=call, npu=name is None, group=group, site=False)
        return True

    def take_nearest(self, call: cst.Call, arg: cst.Arg, pattern: Pattern) -> bool:
        """Replace the mode, and drop the arguments that only other modes take."""
        if not isinstance(arg.value, cst.SimpleString):
            return False
        is_function = pattern.position == 3
        refused = []
        for name, (position, harmless) in _NOT_WITH_NEAREST.items():
            other = argument(call, position if is_function else position - 1, name)
            if other is not None and self.spans.text(other.value) not in harmless:
                refused.append(droppable(self.unit, call, other))
        if None in refused:
            return False
        code, group = pattern.rule.code, f"resize:{self.spans[call].start}"
        start = self.spans[arg.value].start + start_of_text(arg.value)
        span = Span(start, start + len(arg.value.raw_value))
        self.unit.replace(code, span, _NEAREST, at=call, npu=False, note=pattern.row.note, group=group)
        for gone in refused:
            if gone is not None:
                self.unit.replace(code, gone, "", at=call, npu=False, group=group, site=False)
        return True


class ResizeDtype(Calls):
    """Reports what is resized as a type that the mode's kernel doesn't take, where the type can be seen."""

    CODEMOD: ClassVar[str] = "resize_dtype"

    def check(self, call: cst.Call, pattern: Pattern) -> None:
        mode = argument(call, pattern.position, pattern.keyword)
        given = argument(call, 0, "input")
        if mode is None or given is None or not self.has_value(mode.value, pattern.value):
            return
        if self.dtypes(given.value) & set(pattern.row.dtypes):
            self.report(given, pattern)

    def dtypes(self, node: cst.BaseExpression) -> set[str]:
        """Return the type that the expression ``node``, or what is assigned to it, visibly casts to."""
        found: set[str] = set()
        for value in (node, *self.assigned(node)):
            if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
                method = value.func.attr.value
                found.add(_CASTS.get(method, ""))
                if method in ("to", "type"):
                    for arg in value.args:
                        found.update(name.rpartition(".")[2] for name in self.names.qualified(arg.value))
        return found


# Methods of tensors that cast, and the types that they cast to.
_CASTS = {"byte": "uint8", "double": "float64", "bfloat16": "bfloat16"}
