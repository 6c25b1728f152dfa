"""``x[x > 0] = value``: assignments through a boolean mask."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.codemods.base import Codemod

RULE = "NPU432"
# On these chips such an assignment may take the device down: github.com/Ascend/pytorch issue 153.
_FATAL = {"ascend310p"}
_CONTAINERS = (cst.List, cst.Dict, cst.ListComp, cst.DictComp)
# Functions and methods of torch whose result is a mask.
_ASKS = {
    "bool", "eq", "ge", "gt", "isclose", "isfinite", "isin", "isinf", "isnan", "le", "logical_and",
    "logical_not", "logical_or", "lt", "ne",
}  # fmt: skip
_BITWISE = (cst.BitAnd, cst.BitOr, cst.BitXor)


class MaskAssignment(Codemod):
    """Reports them where the index visibly is a comparison, and what is assigned to may be a tensor."""

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            inner = target.target
            parts = inner.elements if isinstance(inner, (cst.Tuple, cst.List)) else ()
            for part in (inner, *(element.value for element in parts)):
                self.check(part)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self.check(node.target)

    def check(self, target: cst.BaseExpression) -> None:
        if not isinstance(target, cst.Subscript) or self.is_list(target.value):
            return
        indices = [part.slice.value for part in target.slice if isinstance(part.slice, cst.Index)]
        if any(map(self.is_mask, indices)) and self.may_be_tensor(target.value):
            fatal = self.unit.settings.target.soc in _FATAL
            self.unit.report(RULE, target, severity=Severity.BLOCKER if fatal else None)

    def is_list(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` visibly is a list or a dictionary, whose index is no mask."""
        values = [b.value for b in self.names.lookup(node)] if isinstance(node, cst.Name) else []
        return bool(values) and all(isinstance(value, _CONTAINERS) for value in values)

    def is_mask(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` visibly is a mask: a comparison, several of them, or a name for one."""
        if isinstance(node, cst.Comparison):
            return not isinstance(node.comparisons[0].operator, (cst.In, cst.NotIn, cst.Is, cst.IsNot))
        if isinstance(node, cst.Call):
            return isinstance(node.func, cst.Attribute) and node.func.attr.value in _ASKS
        if isinstance(node, cst.UnaryOperation):
            return isinstance(node.operator, cst.BitInvert)
        if isinstance(node, cst.BinaryOperation):
            both = self.is_mask(node.left) and self.is_mask(node.right)
            return isinstance(node.operator, _BITWISE) and both
        if isinstance(node, cst.Name):
            values = [binding.value for binding in self.names.lookup(node)]
            return bool(values) and all(isinstance(value, cst.Comparison) for value in values)
        return False
