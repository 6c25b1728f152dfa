"""Keyword arguments and methods that rows are about, whatever takes or has them."""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from cuda2npu.catalog.rules import Row, Rule, Text
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import string_value
from cuda2npu.rewrite.unit import Unit

_OFF = {"None", "False"}


class Keyword(Codemod):
    """Reports the first in a file, and how many there are: a test suite repeats them on every page.

    A row is called ``optim=adamw_8bit``; ``?`` is any value but None and False. A row that ends in ``()``
    is about calls of a method with this name.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows: dict[str, tuple[Rule, Row]] = {}
        self.found: dict[str, list[cst.CSTNode]] = defaultdict(list)
        for name, found in unit.catalog.rows.items():
            if found[0].codemod == "keyword":
                self.rows[name] = found
        self.keywords = {name.partition("=")[0] for name in self.rows}

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is None or node.keyword.value not in self.keywords:
            return
        keyword, text = node.keyword.value, self.spans.text(node.value)
        name = f"{keyword}={string_value(node.value) or text}"
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
