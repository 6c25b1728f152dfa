"""Comparisons with the text of an out-of-memory error."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.spans import Span

RULE = "NPU116"
TEXT = "CUDA out of memory"


class OutOfMemoryText(Codemod):
    """The message begins with the device's name."""

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        if TEXT not in node.value:
            return
        parent = self.names.parents[node]
        in_test = isinstance(parent, (cst.Comparison, cst.ComparisonTarget))
        if not in_test and not self.is_asked_for(parent):
            return
        start = self.spans[node].start + node.value.index(TEXT)
        self.unit.replace(RULE, Span(start, start + 4), "NPU", at=node, npu=False)

    def is_asked_for(self, parent: cst.CSTNode) -> bool:
        """Whether the text is an argument of ``startswith`` or the like."""
        call = self.names.parents.get(parent)
        if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call):
            return False
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in (
            "startswith",
            "find",
            "count",
        )
