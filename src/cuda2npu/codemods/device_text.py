"""Code that takes the text of a device apart: by position, or by a regular expression."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.flow import Use
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import start_of_text, string_value, written

RULE = "NPU006"
# re function -> position of the text that it looks at.
_LOOKS_AT = {f"re.{name}": 1 for name in ("match", "search", "fullmatch", "findall", "finditer", "split")}
_LOOKS_AT.update({"re.sub": 2, "re.subn": 2})


class DeviceText(Codemod):
    """Cuts "npu:0" where "cuda:0" was cut."""

    def visit_Slice(self, node: cst.Slice) -> None:
        """``int(device[5:])``, ``device[:4] == "cuda"``, ``device[len("cuda:"):]``."""
        subscript = self.names.enclosing(node, cst.Subscript)
        if subscript is None or not self.is_text(subscript):
            return
        if self.unit.devices.source(subscript.value) is not Use.PROVEN:
            return
        for bound in (node.lower, node.upper):
            if isinstance(bound, cst.Integer) and bound.value in ("4", "5"):  # len("cuda"), len("cuda:")
                self.unit.replace(RULE, self.spans[bound], str(int(bound.value) - 1), at=bound, npu=False)
            elif isinstance(bound, cst.Call) and len(bound.args) == 1:
                self.rename(bound.args[0].value, Use.PROVEN)

    def is_text(self, node: cst.Subscript) -> bool:
        """Whether what is cut out is used as a text; a list of devices is cut in the same way."""
        parent = self.names.parents[node]
        call = self.names.parents.get(parent)
        if isinstance(parent, cst.Arg) and isinstance(call, cst.Call):
            return isinstance(call.func, cst.Name) and call.func.value == "int"
        if isinstance(parent, cst.Comparison):
            return any(string_value(target.comparator) is not None for target in parent.comparisons)
        return False

    def visit_Call(self, node: cst.Call) -> None:
        """``re.match(r"cuda:(\\d+)", device)``."""
        for name in self.names.qualified(node.func) & _LOOKS_AT.keys():
            position = _LOOKS_AT[name]
            if len(node.args) > position:
                self.rename(node.args[0].value, self.unit.devices.source(node.args[position].value))

    def rename(self, text: cst.BaseExpression, use: Use) -> None:
        value = written(text) if isinstance(text, cst.SimpleString) else None
        if not isinstance(text, cst.SimpleString) or value is None or value.count("cuda") != 1:
            return
        if use in (Use.PROVEN, Use.NAMED):
            self.unit.claimed.add(text)
            start = self.spans[text].start + start_of_text(text) + value.index("cuda")
            unsafe = use is not Use.PROVEN
            self.unit.replace(RULE, Span(start, start + 4), "npu", at=text, npu=False, unsafe=unsafe)
