"""Rows that are about an attribute of any object."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.unit import Unit


class AttributeName(Codemod):
    """Reports attributes such as ``x.__cuda_array_interface__``; the row is called ``*.name``."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = {name[2:]: found for name, found in unit.catalog.rows_of("attribute_name").items()}

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in self.rows:
            self.report(node.attr, node.attr.value)

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        """``getattr(x, "name")`` reaches the same attribute."""
        name = node.value[1:-1]
        arg = self.names.parents[node]
        if name in self.rows and isinstance(arg, cst.Arg):
            self.report(node, name)

    def report(self, node: cst.CSTNode, name: str) -> None:
        rule, row = self.rows[name]
        self.unit.report(rule.code, node, note=row.note)
