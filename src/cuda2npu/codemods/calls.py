"""Calls that rows are about: of a function, of a tensor's method, with the value of an argument."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

import libcst as cst

from cuda2npu.catalog.rules import LANGUAGES, Row, Rule, Text
from cuda2npu.codemods.arguments import drop_argument
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.change import Applicability
from cuda2npu.rewrite.kinds import Kind
from cuda2npu.rewrite.tree import argument, string_value
from cuda2npu.rewrite.unit import Unit

_ROW = re.compile(
    r"(?P<function>[*\w.]+)(?:\((?:(?P<position>\d+):)?(?P<keyword>\w+)=(?P<value>[^)]*)\))?",
)
_GIVEN = "?"  # any value that turns the argument on
_OFF = {"None", "False", "0", "0.0"}


class _Pattern(NamedTuple):
    """One row, taken apart."""

    rule: Rule
    row: Row
    position: int | None
    keyword: str | None
    value: str


class Calls(Codemod):
    """Reports calls, or changes an argument of them.

    A row is called ``torch.linalg.eigh``, ``*.nonzero`` (a method of a tensor), and with an argument
    ``torch.topk(4:sorted=False)``: its position, its keyword, its value. The position is left out where
    only the keyword will do. The value is a literal, a string without quotes, the dotted name of an
    object, or ``?`` for anything but None, False and 0. If the rule isn't manual, ``to`` takes the
    place of the value; where it is empty, the argument is dropped.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.patterns: dict[str, list[_Pattern]] = defaultdict(list)
        for name, (rule, row) in unit.catalog.rows.items():
            match = _ROW.fullmatch(name) if rule.codemod == "call" else None
            if match is not None and row.concerns(unit.settings.target):
                position = int(match["position"]) if match["position"] else None
                self.patterns[match["function"]].append(
                    _Pattern(rule, row, position, match["keyword"], match["value"] or "")
                )

    def visit_Call(self, node: cst.Call) -> None:
        for function in self.functions(node.func):
            for pattern in self.patterns.get(function, ()):
                self.check(node, pattern)

    def functions(self, function: cst.BaseExpression) -> frozenset[str]:
        """Return the names under which rows may be about ``function``."""
        names = self.names.qualified(function)
        if names or not isinstance(function, cst.Attribute):
            return names
        method = f"*.{function.attr.value}"
        if method in self.patterns and self.may_be_tensor(function.value):
            return frozenset({method})
        return frozenset()

    def may_be_tensor(self, receiver: cst.BaseExpression) -> bool:
        """Whether ``receiver`` may be torch's; where arrays of another library are about, it must be."""
        if isinstance(receiver, cst.Name) and receiver.value in ("self", "cls"):
            return False
        kind = self.unit.kinds.of(receiver).kind
        if kind is Kind.UNKNOWN:
            return self.unit.uses_torch and not self.unit.uses_foreign
        return kind is Kind.TORCH

    def check(self, call: cst.Call, pattern: _Pattern) -> None:
        rule, row = pattern.rule, pattern.row
        if pattern.keyword is None:
            self.report(call.func, pattern)
            return
        arg = argument(call, pattern.position, pattern.keyword)
        if arg is None or not self.has_value(arg.value, pattern.value):
            return
        if rule.applicability is Applicability.MANUAL:
            self.report(arg, pattern)
        elif row.to:
            span = self.spans.whole(arg.value)
            self.unit.replace(rule.code, span, row.to, at=call, npu=False, note=row.note)
        elif not drop_argument(self.unit, rule.code, call, arg, row.note):
            self.report(arg, pattern)

    def report(self, node: cst.CSTNode, pattern: _Pattern) -> None:
        """Report ``node``; where the row is about an operator of ATen, name it."""
        rule, row = pattern.rule, pattern.row
        note = row.note if row.note.en else rule.advice
        if row.op:
            note = Text(*(f"aten::{row.op}: {note.in_language(lang)}" for lang in LANGUAGES))
        self.unit.report(rule.code, node, note=note)

    def has_value(self, node: cst.BaseExpression, wanted: str) -> bool:
        text = self.spans.text(node)
        if wanted == _GIVEN:
            return text not in _OFF
        return wanted in (text, string_value(node)) or wanted in self.names.qualified(node)
