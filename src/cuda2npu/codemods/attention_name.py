"""The attention implementation that transformers is told to use."""

from __future__ import annotations

import re

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import argument, dotted, start_of_text, string_value, written
from cuda2npu.rewrite.unit import Unit

_ATTENTION = re.compile("attn|attention", re.I)
_FALLBACKS = {"get", "getattr", "getenv", "pop", "setattr", "setdefault"}


class AttentionName(Codemod):
    """Changes the string where it becomes a setting, not where it is compared or one of several choices."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("attention_name")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        value = written(node)
        if value is None or value not in self.rows or node in self.unit.claimed:
            return
        rule, row = self.rows[value]
        if not _ATTENTION.search(self.setting(node)):
            return
        if self.is_no_choice(node, row.to):
            self.unit.report(rule.code, node)
            return
        start = self.spans[node].start + start_of_text(node)
        self.unit.claimed.add(node)
        self.unit.replace(
            rule.code, Span(start, start + len(value)), row.to, at=node, npu=False, note=row.note
        )

    def setting(self, node: cst.CSTNode) -> str:
        """Return the name of the variable, attribute, parameter, key or option that ``node`` is given to."""
        parent = self.names.parents[node]
        while isinstance(parent, (cst.IfExp, cst.BooleanOperation)):
            if isinstance(parent, cst.IfExp) and parent.test is node:
                return ""
            node, parent = parent, self.names.parents[parent]
        if isinstance(parent, cst.Assign):
            return ", ".join(self.spans.text(target.target) for target in parent.targets)
        if isinstance(parent, cst.AnnAssign):
            return self.spans.text(parent.target)
        if isinstance(parent, cst.NamedExpr):
            return self.spans.text(parent.target)
        if isinstance(parent, cst.Param):
            return parent.name.value
        if isinstance(parent, cst.DictElement):
            return string_value(parent.key) or "" if parent.value is node else ""
        if isinstance(parent, cst.Return):
            function = self.names.enclosing(parent, cst.FunctionDef)
            return function.name.value if function is not None else ""
        return self.argument(parent) if isinstance(parent, cst.Arg) else ""

    def argument(self, arg: cst.Arg) -> str:
        """Return the name of what the argument ``arg`` sets."""
        call = self.names.parents[arg]
        assert isinstance(call, cst.Call)
        function = (dotted(call.func) or "").rpartition(".")[2]
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if function in _FALLBACKS and not keyword:
            return " ".join(
                filter(None, (string_value(other.value) for other in call.args if other is not arg))
            )
        if keyword != "default":
            return keyword
        if function == "field":  # of a dataclass
            return self.setting(call)
        return " ".join(filter(None, (string_value(other.value) for other in call.args if not other.keyword)))

    def is_no_choice(self, node: cst.CSTNode, name: str) -> bool:
        """Whether ``node`` is the default of an option that doesn't allow ``name``."""
        call = self.names.enclosing(node, cst.Call)
        choices = argument(call, None, "choices") if call is not None else None
        return choices is not None and re.search(rf"\b{name}\b", self.spans.text(choices.value)) is None
