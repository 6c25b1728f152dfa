"""RMSNorm that is written out: x * rsqrt(mean(x ** 2, -1) + eps)."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice
from cuda2npu.rewrite.tree import argument

RULE = "NPU802"


class RootMeanSquare(Advice):
    """Reports the reciprocal root."""

    CODES = (RULE,)

    def visit_Call(self, node: cst.Call) -> None:
        if not self.wanted:
            return
        inside = self.root_of(node)
        if inside is not None and any(self.is_mean_of_squares(part) for part in self.behind(inside)):
            self.unit.report(RULE, node)

    def root_of(self, node: cst.Call) -> cst.BaseExpression | None:
        """Return what the root is taken of; a plain root only where something is divided by it."""
        if self.called(node, "torch.rsqrt") and node.args:
            return node.args[0].value
        if self.method(node) == "rsqrt" and isinstance(node.func, cst.Attribute):
            return node.func.value
        parent = self.names.parents[node]
        if not isinstance(parent, cst.BinaryOperation) or not isinstance(parent.operator, cst.Divide):
            return None
        is_root = parent.right is node and self.called(node, "torch.sqrt") and len(node.args) == 1
        return node.args[0].value if is_root else None

    def is_mean_of_squares(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is the mean over the last axis of squares of what isn't centred."""
        if not isinstance(node, cst.Call):
            return False
        if self.called(node, "torch.mean") and node.args:
            squares, axis = node.args[0].value, argument(node, 1, "dim")
        elif self.method(node) == "mean" and isinstance(node.func, cst.Attribute):
            squares, axis = node.func.value, argument(node, 0, "dim")
        else:
            return False
        if axis is None or self.spans.text(axis.value).strip("()[], ") != "-1":
            return False
        return any(self.is_square(value) for value in self.values(squares))

    def is_square(self, node: cst.BaseExpression) -> bool:
        base: cst.BaseExpression | None = None
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.Power) and self.spans.text(node.right) in ("2", "2.0"):
                base = node.left
            elif isinstance(node.operator, cst.Multiply):
                same = self.spans.text(node.left) == self.spans.text(node.right)
                base = node.left if same else None
        elif isinstance(node, cst.Call):
            if self.method(node) == "square" or (
                self.method(node) == "pow"
                and node.args
                and self.spans.text(node.args[0].value) in ("2", "2.0")
            ):
                assert isinstance(node.func, cst.Attribute)
                base = node.func.value
            elif self.called(node, "torch.square", "torch.pow") and node.args:
                base = node.args[0].value
        return base is not None and not any(self.is_difference(value) for value in self.values(base))

    def is_difference(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is centred, so that this is a variance."""
        return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract)
