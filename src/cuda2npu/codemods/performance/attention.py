"""Attention that is written out: softmax(q @ k.T * scale + mask) @ v."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice

RULE = "NPU801"
_SOFTMAX = ("torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax")


class Attention(Advice):
    """Reports the second product."""

    CODES = (RULE,)
    CHIPS = frozenset({"ascend910b", "ascend910_93", "ascend950"})

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        self.look_at(node)

    def visit_Call(self, node: cst.Call) -> None:
        self.look_at(node)

    def look_at(self, node: cst.BinaryOperation | cst.Call) -> None:
        sides = self.product(node) if self.wanted else None
        if sides is None or not self.is_weights(sides[0]):
            return
        self.unit.report(RULE, node)

    def is_weights(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is a softmax of scores."""
        for value in self.behind(node):
            scores = self.softmax_of(value)
            if scores is not None and any(map(self.is_scores, self.behind(scores))):
                return True
        return False

    def softmax_of(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Call):
            return None
        if self.called(node, *_SOFTMAX) and node.args:
            return node.args[0].value
        if self.method(node) != "softmax":
            return None
        assert isinstance(node.func, cst.Attribute)
        owner = node.func.value  # a tensor; self.softmax(x) is a module
        is_module = isinstance(owner, cst.Name) and owner.value == "self"
        return node.args[0].value if is_module and node.args else owner

    def is_scores(self, node: cst.BaseExpression) -> bool:
        sides = self.product(node)
        return sides is not None and any(map(self.is_transposed, sides))
