"""Members of what a torch function returns that the NPU's object hasn't, or leaves empty."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.change import Severity
from cuda2npu.rewrite.unit import Unit


class ResultMember(Codemod):
    """Reports them. A row is called ``torch.cuda.get_device_properties().major``.

    A row that ends in ``()`` is about the result itself: it is reported wherever the result is used.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = {
            name: (rule, row)
            for name, (rule, row) in unit.catalog.rows.items()
            if rule.codemod == "result_member"
        }
        self.members = {name.rpartition(".")[2] for name in self.rows if not name.endswith("()")}
        self.functions = {name.partition("()")[0] for name in self.rows}

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value not in self.members:
            return
        call = self.call_behind(node.value)
        for name in self.names.qualified(call.func) & self.functions if call is not None else ():
            found = self.rows.get(f"{name}().{node.attr.value}")
            if found is not None:
                self.unit.report(found[0].code, node, note=found[1].note)

    def visit_Call(self, node: cst.Call) -> None:
        if isinstance(self.names.parents[node], cst.Expr):
            return
        for name in self.names.qualified(node.func) & self.functions:
            found = self.rows.get(f"{name}()")
            if found is None:
                continue
            severity = self.severity_of_none(node)
            self.unit.report(found[0].code, node, note=found[1].note, severity=severity)
            if severity is Severity.BLOCKER:  # a renamed call would only fail in another way
                self.claim(node.func)

    def claim(self, node: cst.BaseExpression) -> None:
        while isinstance(node, cst.Attribute):
            node = node.value
        self.unit.claimed.add(node)

    def call_behind(self, node: cst.CSTNode) -> cst.Call | None:
        """Return the call that made the value of ``node``: itself, assigned, or entered by ``with``."""
        if isinstance(node, cst.Call):
            return node
        if not isinstance(node, cst.Name):
            return None
        for binding in self.names.lookup(node):
            if isinstance(binding.value, cst.Call):
                return binding.value
            item = self.names.enclosing(binding.node, cst.WithItem)
            if item is not None and isinstance(item.item, cst.Call):
                return item.item
        return None
