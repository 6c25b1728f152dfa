"""Functions of torch that mean CUDA where no device is given."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument
from cuda2npu.rewrite.unit import Mapping

# The parameter for the device: its name, its position, and whether it reads best as the first argument.
_PARAMETERS = {"fork_rng": ("device_type", 4, False), "GradScaler": ("device", 0, True)}


class DefaultDevice(Codemod):
    """Gives the device, so that the default isn't taken."""

    def visit_Call(self, node: cst.Call) -> None:
        if not isinstance(node.func, (cst.Name, cst.Attribute)):
            return
        last = node.func.value if isinstance(node.func, cst.Name) else node.func.attr.value
        if last not in _PARAMETERS and not isinstance(node.func, cst.Name):
            return
        for name in self.names.qualified(node.func):
            mapping = self.unit.mapping(name)
            if mapping is not None and mapping.rule.codemod == "default_device" and mapping.name == name:
                self.give_device(node, mapping)

    def give_device(self, node: cst.Call, mapping: Mapping) -> None:
        keyword, position, first = _PARAMETERS[mapping.name.rpartition(".")[2]]
        if argument(node, position, keyword) is not None:
            return
        code, note = mapping.rule.code, mapping.row.note
        if any(arg.star for arg in node.args):
            self.unit.report(code, node, note=note)
        elif first:
            place = self.after_bracket(node)
            text = '"npu", ' if node.args else '"npu"'
            self.unit.replace(code, place, text, at=node, note=note)
        else:
            value = f'{keyword}="npu"'
            place = self.after_bracket(node)
            if node.args:
                end = self.spans.whole(node.args[-1].value).end
                place, value = Span(end, end), f", {value}"
            self.unit.replace(code, place, value, at=node, note=note)

    def after_bracket(self, node: cst.Call) -> Span:
        """Return the place right behind the opening bracket of a call."""
        offset = self.unit.text.index("(", self.spans.whole(node.func).end) + 1
        return Span(offset, offset)
