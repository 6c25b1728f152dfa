"""Resizing in a mode for which the target has no kernel."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from cuda2npu.codemods.arguments import droppable
from cuda2npu.codemods.calls import Calls, Pattern
from cuda2npu.codemods.torchscript import TorchScript
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, children, dotted, start_of_text, string_value
from cuda2npu.rewrite.unit import Unit

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

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.calls: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)

    def finish(self) -> None:
        """Look at inner calls first: what they bring back stands before what outer ones do with it."""
        for call in reversed(self.calls):
            super().visit_Call(call)

    def check(self, call: cst.Call, pattern: Pattern) -> None:
        given = argument(call, 0, "input")
        if pattern.position == 3 and given is not None and self.is_on_cpu(call, given.value):
            return
        super().check(call, pattern)

    def changed(self, call: cst.Call, arg: cst.Arg, pattern: Pattern) -> bool:
        how = self.unit.settings.interpolate
        if how == "nearest":
            return self.take_nearest(call, arg, pattern)
        given = argument(call, 0, "input")
        is_function = pattern.position == 3  # torch.nn.Upsample has no input among its arguments
        return how == "cpu" and is_function and given is not None and self.go_by_cpu(call, given, pattern)

    def is_on_cpu(self, call: cst.Call, given: cst.BaseExpression) -> bool:
        """Whether the input visibly is on the CPU, as after this very rewrite, or the result is."""
        if isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute):
            to_cpu = bool(given.args) and string_value(given.args[0].value) == "cpu"
            if given.func.attr.value == "cpu" or (given.func.attr.value == "to" and to_cpu):
                return True
        outer: cst.CSTNode | None = self.names.parents.get(call)
        while isinstance(outer, (cst.Attribute, cst.Call, cst.Subscript)):
            if isinstance(outer, cst.Attribute) and outer.attr.value == "numpy":
                return True  # a tensor of the NPU has none
            outer = self.names.parents.get(outer)
        return self.comes_from_numpy(given)

    def comes_from_numpy(self, node: cst.CSTNode) -> bool:
        """Whether ``from_numpy``, which makes tensors on the CPU, is called in an expression."""
        if isinstance(node, cst.Call):
            name = (self.spans.text(node.func)).rpartition(".")[2]
            if name in ("from_numpy", "cuda", "npu", "to"):
                return name == "from_numpy"
        return any(map(self.comes_from_numpy, children(node)))

    def go_by_cpu(self, call: cst.Call, given: cst.Arg, pattern: Pattern) -> bool:
        """``f(x, …)`` becomes ``f(x.cpu(), …).to(x.device)``; the gradient takes the same way back."""
        code, note = pattern.rule.code, pattern.row.note
        group = f"resize:{self.spans[call].start}"
        start, end = self.spans.whole(given.value)
        is_atom = isinstance(given.value, _ATOMS) or bool(given.value.lpar)
        if not is_atom:
            self.unit.replace(code, Span(start, start), "(", at=call, npu=False, group=group, site=False)
        there = ".cpu()" if is_atom else ").cpu()"
        self.unit.replace(code, Span(end, end), there, at=call, npu=False, note=note, group=group)
        name = dotted(given.value)  # asking anything else for its device could compute it twice
        there_again = '.to("npu")' if TorchScript(self.unit).compiles(call) else ".npu()"
        back, after = f".to({name}.device)" if name else there_again, self.spans[call].end
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
        if None in refused or (len(refused) > 1 and call.args[0].keyword is not None):
            return False  # a comma that two arguments share can't go twice
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
