"""Keyword arguments and methods that rows are about, whatever takes or has them."""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from cuda2npu.catalog.rules import Text
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import string_value
from cuda2npu.rewrite.unit import Unit

_OFF = {"None", "False"}


class Keyword(Codemod):
    """Reports the first in a file, and how many there are: a test suite repeats them on every page.

    A row is called ``optim=adamw_8bit``; ``?`` is any value but None and False. The keyword may be a
    key, too: of a dictionary that is handed on as ``**options``. A row that ends in ``()`` is about
    calls of a method with this name.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("keyword")
        self.found: dict[str, list[cst.CSTNode]] = defaultdict(list)
        self.keywords = {name.partition("=")[0] for name in self.rows}

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is not None:
            self.look_at(node, node.keyword.value, node.value)

    def visit_DictElement(self, node: cst.DictElement) -> None:
        self.look_at(node, string_value(node.key), node.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        if isinstance(target, cst.Subscript) and isinstance(target.slice[0].slice, cst.Index):
            self.look_at(node, string_value(target.slice[0].slice.value), node.value)

    def look_at(self, node: cst.CSTNode, keyword: str | None, value: cst.BaseExpression) -> None:
        """Note ``node`` if it gives ``keyword`` a value that a row is about."""
        if keyword not in self.keywords:
            return
        text = self.spans.text(value)
        name = f"{keyword}={string_value(value) or text}"
        if name not in self.rows and text not in _OFF:
            name = f"{keyword}=?"
        if name in self.rows:
            self.found[name].append(node)

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(node.func, cst.Attribute) and f"{node.func.attr.value}()" in self.rows:
            self.found[f"{node.func.attr.value}()"].append(node.func)

    def finish(self) -> None:
        for name, places in self.found.items():
            rule, row = self.rows[name]
            count = len(places)
            remark = Text(f"{count} in this file", f"本文件共 {count} 处") if count > 1 else None
            self.unit.report(rule.code, places[0], note=row.note, remark=remark)
