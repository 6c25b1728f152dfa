"""Types of tensors that the target computes with badly, or not at all."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from cuda2npu.codemods.calls import Calls
from cuda2npu.rewrite.tree import string_value

# Methods behind which a tensor is on the CPU, or no tensor any more.
_LEAVES = {"cpu", "numpy", "item", "tolist"}


class Dtype(Calls):
    """Reports where a tensor visibly gets such a type, unless it visibly is one of the CPU.

    Beside calls, a row may be about the type itself (``torch.float64``): it is reported where it is
    passed on or assigned, and not where a type is only compared or looked up.
    """

    CODEMOD: ClassVar[str] = "dtype"

    def visit_Call(self, node: cst.Call) -> None:
        if not self.is_on_cpu(node):
            super().visit_Call(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in self.last_names and self.is_chain_end(node):
            self.mention(node)

    def visit_Name(self, node: cst.Name) -> None:
        if node.value in self.last_names and self.is_chain_end(node):
            self.mention(node)

    def mention(self, node: cst.Attribute | cst.Name) -> None:
        """Deal with a name that may be the type itself."""
        if not self.is_handed_on(node):
            return
        for name in self.names.qualified(node):
            for pattern in self.patterns.get(name, ()):
                if pattern.keyword is None:
                    self.report(node, pattern)

    def is_handed_on(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is an argument of a call for the NPU, assigned, or a default."""
        parent = self.names.parents.get(node)
        if isinstance(parent, cst.Arg):
            call = self.names.parents.get(parent)
            return isinstance(call, cst.Call) and not self.is_query(call) and not self.is_on_cpu(call)
        return isinstance(parent, (cst.Assign, cst.AnnAssign, cst.Param))

    def is_query(self, call: cst.Call) -> bool:
        """Whether a call only asks about the type: ``torch.finfo(torch.float64)``."""
        function = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        return isinstance(function, cst.Name) and function.value in ("finfo", "iinfo", "isinstance", "print")

    def is_on_cpu(self, call: cst.Call) -> bool:
        """Whether the chain of calls that ``call`` stands in visibly is on the CPU, or goes there."""
        if any(string_value(arg.value) == "cpu" for arg in call.args):
            return True
        inner: cst.CSTNode = call.func
        while isinstance(inner, (cst.Attribute, cst.Call)):
            if isinstance(inner, cst.Attribute):
                if inner.attr.value in _LEAVES:
                    return True
                inner = inner.value
            else:
                inner = inner.func
        outer: cst.CSTNode | None = self.names.parents.get(call)
        while isinstance(outer, (cst.Attribute, cst.Call)):
            if isinstance(outer, cst.Attribute) and outer.attr.value in _LEAVES:
                return True
            outer = self.names.parents.get(outer)
        return False
