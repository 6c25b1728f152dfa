"""Members of what a torch function returns that the NPU's object hasn't, or leaves empty."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.scopes import Binding
from cuda2npu.rewrite.unit import Unit

_HANDLER = "on_trace_ready"  # of torch.profiler.profile: is called with the profiler


class ResultMember(Codemod):
    """Reports them. A row is called ``torch.cuda.get_device_properties().major``.

    A row that ends in ``()`` is about the result itself: it is reported wherever the result is used.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.rows = unit.catalog.rows_of("result_member")
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
        """Return the call that made the value of ``node``: itself, assigned, entered, or handed on."""
        if isinstance(node, cst.Call):
            return node
        if isinstance(node, cst.Attribute):
            return self.call_in_class(node)
        if not isinstance(node, cst.Name):
            return None
        for binding in self.names.lookup(node):
            if isinstance(binding.value, cst.Call):
                return binding.value
            if binding.kind == "param":
                return self.call_with_handler(binding)
            item = self.names.enclosing(binding.node, cst.WithItem)
            if item is not None and isinstance(item.item, cst.Call):
                return item.item
        return None

    def call_in_class(self, node: cst.Attribute) -> cst.Call | None:
        """Return the call that ``self.name`` is assigned in the class around ``node``."""
        text, owner = self.spans.text(node), self.names.enclosing(node, cst.ClassDef)
        if owner is None or not text.startswith("self."):
            return None
        for assign in self.names.nodes(cst.Assign):
            targets = {self.spans.text(target.target) for target in assign.targets}
            in_class = self.names.enclosing(assign, cst.ClassDef) is owner
            if isinstance(assign.value, cst.Call) and in_class and text in targets:
                return assign.value
        return None

    def call_with_handler(self, parameter: Binding) -> cst.Call | None:
        """Return the call that hands its result to the function with this parameter."""
        function = self.names.enclosing(parameter.node, cst.FunctionDef, cst.Lambda)
        for arg in self.names.nodes(cst.Arg):
            if arg.keyword is None or arg.keyword.value != _HANDLER:
                continue
            is_it = arg.value is function
            if isinstance(arg.value, cst.Name):
                is_it = any(binding.node is function for binding in self.names.lookup(arg.value))
            call = self.names.parents[arg]
            if is_it and isinstance(call, cst.Call):
                return call
        return None
