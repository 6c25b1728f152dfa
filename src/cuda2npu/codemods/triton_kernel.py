"""Kernels that are written in Triton."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.catalog.rules import Text
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.unit import Unit

RULE = "NPU517"
_JIT = {"triton.jit", "triton.runtime.jit.jit"}
# triton-ascend serves Atlas A2 and later.
_WITHOUT_TRITON = {"ascend310p", "ascend910a"}


class TritonKernel(Codemod):
    """Reports the first one of a file, and how many there are."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.kernels: list[cst.FunctionDef] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        if any(self.names.qualified(_function(decorator)) & _JIT for decorator in node.decorators):
            self.kernels.append(node)

    def finish(self) -> None:
        if not self.kernels:
            return
        count = len(self.kernels)
        remark = Text(f"{count} in this file", f"本文件共 {count} 个") if count > 1 else None
        severity = Severity.BLOCKER if self.unit.settings.target.soc in _WITHOUT_TRITON else None
        self.unit.report(RULE, self.kernels[0].name, severity=severity, remark=remark)


def _function(decorator: cst.Decorator) -> cst.BaseExpression:
    called = decorator.decorator
    return called.func if isinstance(called, cst.Call) else called
