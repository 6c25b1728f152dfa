"""Code that takes the text of a device apart: by position, or by a regular expression."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.flow import Use
from cuda2npu.rewrite.flow.cells import last_name
from cuda2npu.rewrite.flow.origins import origins
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted, start_of_text, string_value
from cuda2npu.rewrite.words import CUDA_WORD

RULE = "NPU006"
PATTERN = "NPU017"
_PATTERN = re.compile(r"\bcuda\b(?!\.\w)")  # the word itself, and no file name such as cuda.h
# re function -> position of the text that it looks at.
_LOOKS_AT = {f"re.{name}": 1 for name in ("match", "search", "fullmatch", "findall", "finditer", "split")}
_LOOKS_AT.update({"re.sub": 2, "re.subn": 2})


class DeviceText(Codemod):
    """Cuts "npu:0" where "cuda:0" was cut."""

    def visit_Index(self, node: cst.Index) -> None:
        """``int(device[5])``: the number behind "cuda:"."""
        subscript = self.names.enclosing(node, cst.Subscript)
        if subscript is None or not isinstance(node.value, cst.Integer) or node.value.value != "5":
            return
        if not CUDA_WORD.search(self.unit.text) or not self.holds_text(subscript.value, by_name=True):
            return
        use = self.unit.devices.source(subscript.value)
        if use in (Use.PROVEN, Use.NAMED):
            unsafe = self.is_unsure(subscript.value, use)
            self.unit.replace(RULE, self.spans[node.value], "4", at=node.value, npu=False, unsafe=unsafe)

    def is_unsure(self, text: cst.BaseExpression, use: Use) -> bool:
        """Whether the device in ``text`` may stay: by its use, or because another file holds it back."""
        sure = use is Use.PROVEN or (use is Use.NAMED and self.unit.uses_torch)
        return not sure or not self.unit.index.held.isdisjoint(origins(self.unit.devices, text))

    def visit_Slice(self, node: cst.Slice) -> None:
        """``int(device[5:])``, ``device[:4] == "cuda"``, ``device[len("cuda:"):]``."""
        subscript = self.names.enclosing(node, cst.Subscript)
        if subscript is None or not (self.is_text(subscript) or self.holds_text(subscript.value)):
            return
        use = self.unit.devices.source(subscript.value)
        if use not in (Use.PROVEN, Use.NAMED) or not CUDA_WORD.search(self.unit.text):
            return  # where nothing says cuda, what is cut may be an NPU's name already
        # len("cuda"), len("cuda:"); behind the former there is no number yet
        lengths = ("5",) if self.is_number(subscript) else ("4", "5")
        unsafe = self.is_unsure(subscript.value, use)
        for bound in (node.lower, node.upper):
            if isinstance(bound, cst.Integer) and bound.value in lengths:
                after = str(int(bound.value) - 1)
                self.unit.replace(RULE, self.spans[bound], after, at=bound, npu=False, unsafe=unsafe)
            elif isinstance(bound, cst.Call) and len(bound.args) == 1:
                self.rename(bound.args[0].value, use, unsafe)

    def is_text(self, node: cst.Subscript) -> bool:
        """Whether what is cut out is used as a text; a list of devices is cut in the same way."""
        parent = self.names.parents[node]
        if isinstance(parent, cst.BooleanOperation):  # int(device[5:] or 0)
            parent = self.names.parents[parent]
        call = self.names.parents.get(parent)
        if isinstance(parent, cst.Arg) and isinstance(call, cst.Call):
            return isinstance(call.func, cst.Name) and call.func.value == "int"
        if isinstance(parent, cst.Comparison):
            return any(map(self.has_text, (target.comparator for target in parent.comparisons)))
        return isinstance(parent, cst.FormattedStringExpression)

    def is_number(self, node: cst.Subscript) -> bool:
        """Whether what is cut out is taken for a number: ``int(device[5:])``."""
        arg = self.names.parents[node]
        call = self.names.parents.get(arg)
        return isinstance(arg, cst.Arg) and isinstance(call, cst.Call) and dotted(call.func) == "int"

    def has_text(self, node: cst.BaseExpression) -> bool:
        """Whether a value that is compared with is a text, or a choice of texts."""
        if isinstance(node, (cst.Tuple, cst.List, cst.Set)):
            return any(string_value(element.value) is not None for element in node.elements)
        return string_value(node) is not None

    def holds_text(self, node: cst.BaseExpression, by_name: bool = False) -> bool:
        """Whether what is cut is the name of a device: made by ``str``, or a variable that is given one.

        :param by_name: whether it is enough that it is called a device, and not devices.
        """
        if isinstance(node, cst.Call):
            return dotted(node.func) == "str"
        if isinstance(node, cst.FormattedString):
            return True
        if by_name and last_name(node).lower().endswith("device"):
            return True
        cells = self.unit.devices.cells
        cell = cells.of(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
        texts = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
        return cell is not None and any(
            isinstance(value, texts)
            or (isinstance(value, cst.Call) and dotted(value.func) == "str")
            or (by_name and last_name(value).lower().endswith("device"))
            for value in cells.values(cell)
        )

    def visit_Call(self, node: cst.Call) -> None:
        """``re.match(r"cuda:(\\d+)", device)``, ``re.compile("^cuda")``."""
        for name in self.names.qualified(node.func):
            position = _LOOKS_AT.get(name, 0)
            if position and len(node.args) > position:
                text = node.args[position].value
                use = self.unit.devices.source(text)
                self.rename(node.args[0].value, use, self.is_unsure(text, use))
            elif name == "re.compile" and node.args and self.unit.uses_torch:
                self.report(node.args[0].value)

    def report(self, text: cst.BaseExpression) -> None:
        """A pattern that is made in one place and used in another."""
        if (
            isinstance(text, cst.SimpleString)
            and _PATTERN.search(text.value)
            and text not in self.unit.claimed
        ):
            self.unit.claimed.add(text)
            self.unit.report(PATTERN, text)

    def rename(self, text: cst.BaseExpression, use: Use, unsafe: bool) -> None:
        if not isinstance(text, cst.SimpleString) or "b" in text.prefix or text.raw_value.count("cuda") != 1:
            return
        if use in (Use.PROVEN, Use.NAMED):
            self.unit.claimed.add(text)
            start = self.spans[text].start + start_of_text(text) + text.raw_value.index("cuda")
            self.unit.replace(RULE, Span(start, start + 4), "npu", at=text, npu=False, unsafe=unsafe)
