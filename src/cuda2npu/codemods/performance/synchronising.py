"""What makes the host wait for the device in every step of a training loop."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice

RULE = "NPU813"
_WAITS = {"item", "cpu", "tolist", "numpy"}


class Synchronising(Advice):
    """Reports the calls that stand in the loop without a condition; what is done every n steps is cheap."""

    CODES = (RULE,)

    def visit_Call(self, node: cst.Call) -> None:
        if not self.wanted or self.method(node) not in _WAITS or node.args:
            return
        assert isinstance(node.func, cst.Attribute)
        if self.method(node.func.value) in _WAITS:  # x.cpu().numpy() waits once
            return
        loop = self.loop(node)
        if loop is not None and self.trains(loop):
            self.unit.report(RULE, node)

    def loop(self, node: cst.CSTNode) -> cst.For | cst.While | None:
        """Return the innermost loop around ``node``, unless a condition or a function lies between."""
        for ancestor in self.names.ancestors(node):
            if isinstance(ancestor, (cst.If, cst.IfExp, cst.FunctionDef, cst.Lambda)):
                return None
            if isinstance(ancestor, (cst.For, cst.While)):
                return ancestor
        return None

    def trains(self, loop: cst.For | cst.While) -> bool:
        """Whether the loop has a backward pass of its own."""
        return any(
            self.names.enclosing(attribute, cst.For, cst.While) is loop
            for attribute in self.names.attributes.get("backward", ())
        )
