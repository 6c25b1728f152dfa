"""Rows that are about an attribute of any object, or about the value of an argument."""

from __future__ import annotations

import re
from collections import defaultdict

import libcst as cst

from cuda2npu.catalog.rules import Row, Rule
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import argument, string_value
from cuda2npu.rewrite.unit import Unit

_ARGUMENT = re.compile(r"(?P<function>[*\w.]+)\((?P<position>\d+):(?P<keyword>\w+)=(?P<value>[^)]*)\)")


class AttributeName(Codemod):
    """Reports attributes such as ``x.__cuda_array_interface__``; the row is called ``*.name``."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        rows = unit.catalog.rows.items()
        self.rows = {name[2:]: found for name, found in rows if found[0].codemod == "attribute_name"}

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


class ArgumentValue(Codemod):
    """Reports string arguments; the row is called ``torch.compile(1:backend=cudagraphs)``.

    A row ``*.impl(…)`` is about a method of that name, whatever the object.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows: dict[str, list[tuple[re.Match[str], Rule, Row]]] = defaultdict(list)
        for name, (rule, row) in unit.catalog.rows.items():
            match = _ARGUMENT.fullmatch(name) if rule.codemod == "argument_value" else None
            if match is not None:
                self.rows[match["function"]].append((match, rule, row))

    def visit_Call(self, node: cst.Call) -> None:
        functions = set(self.names.qualified(node.func))
        if not functions and isinstance(node.func, cst.Attribute):
            functions = {f"*.{node.func.attr.value}"}
        for function in functions:
            for match, rule, row in self.rows.get(function, ()):
                arg = argument(node, int(match["position"]), match["keyword"])
                if arg is not None and string_value(arg.value) == match["value"]:
                    self.unit.report(rule.code, arg, note=row.note)
