"""Rotary position embedding: x * cos + rotate_half(x) * sin."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.rules import Text
from cuda2npu.codemods.performance.advice import Advice
from cuda2npu.rewrite.tree import dotted

RULE = "NPU803"
_HALF = {"rotate_half", "_rotate_half"}
_PAIRS = {"rotate_every_two", "_rotate_every_two", "rotate_pairwise", "rotate_interleaved"}
_INTERLEAVED = Text('rotary_mode="interleave"', 'rotary_mode="interleave"')


class Rotary(Advice):
    """Reports the sum."""

    CODES = (RULE,)
    CHIPS = frozenset({"ascend910a", "ascend910b", "ascend910_93", "ascend310p"})

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        if not self.wanted or not isinstance(node.operator, cst.Add):
            return
        left, right = self.factors(node.left), self.factors(node.right)
        if left is None or right is None:
            return
        for plain, turned in ((left, right), (right, left)):
            for call in turned:
                name = self.rotation(call)
                if name and self.argument(call) in {self.spans.text(factor) for factor in plain}:
                    remark = _INTERLEAVED if name in _PAIRS else None
                    self.unit.report(RULE, node, remark=remark)
                    return

    def rotation(self, node: cst.BaseExpression) -> str:
        """Return the name of the function, if ``node`` calls one that turns the halves or the pairs."""
        name = (dotted(node.func) or "").rpartition(".")[2] if isinstance(node, cst.Call) else ""
        return name if name in _HALF | _PAIRS else ""

    def argument(self, call: cst.BaseExpression) -> str:
        assert isinstance(call, cst.Call)
        return self.spans.text(call.args[0].value) if call.args else ""
