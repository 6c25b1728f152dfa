"""The memory format channels_last: all of it in a file goes, or none."""

from __future__ import annotations

from typing import Union

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.unit import Unit

RULE = "NPU451"
_FORMATS = {"channels_last", "channels_last_3d"}
_CONTIGUOUS = "contiguous_format"

Mention = Union[cst.Attribute, cst.Name]


class ChannelsLast(Codemod):
    """Makes it contiguous_format where it is only asked for; reports it where code looks at it, too."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.mentions: list[Mention] = []

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in _FORMATS:
            self.look_at(node)

    def visit_Name(self, node: cst.Name) -> None:
        if node.value in _FORMATS and self.is_chain_end(node):
            self.look_at(node)

    def look_at(self, node: Mention) -> None:
        names = {f"torch.{name}" for name in _FORMATS}
        if names & self.names.qualified(node) and not isinstance(self.names.parents[node], cst.ImportAlias):
            self.mentions.append(node)

    def finish(self) -> None:
        only_asked_for = all(map(self.is_asked_for, self.mentions))
        for node in self.mentions:
            if only_asked_for and isinstance(node, cst.Attribute):
                self.unit.replace(RULE, self.spans[node.attr], _CONTIGUOUS, at=node, npu=False)
            else:
                self.unit.report(RULE, node)

    def is_asked_for(self, node: Mention) -> bool:
        """Whether ``node`` is given to a method or function of torch as the memory format to make."""
        arg = self.names.parents[node]
        call = self.names.parents.get(arg)
        if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or isinstance(node, cst.Name):
            return False
        function = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        is_own = not function or function in self.unit.devices.cells.functions
        named = arg.keyword is not None and arg.keyword.value == "memory_format"
        return named and not is_own and function != "is_contiguous"
