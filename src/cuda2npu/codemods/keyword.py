"""Keyword arguments that rows are about, whatever function takes them."""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from cuda2npu.catalog.rules import Row, Rule
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import string_value
from cuda2npu.rewrite.unit import Unit

_OFF = {"None", "False"}


class Keyword(Codemod):
    """Reports them. A row is called ``optim=adamw_8bit``; ``?`` is any value but None and False."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.values: dict[str, dict[str, tuple[Rule, Row]]] = defaultdict(dict)
        for name, found in unit.catalog.rows.items():
            if found[0].codemod == "keyword":
                keyword, _, value = name.partition("=")
                self.values[keyword][value] = found

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is None or node.keyword.value not in self.values:
            return
        values = self.values[node.keyword.value]
        found = values.get(string_value(node.value) or self.spans.text(node.value))
        if found is None and self.spans.text(node.value) not in _OFF:
            found = values.get("?")
        if found is not None:
            self.unit.report(found[0].code, node, note=found[1].note)
