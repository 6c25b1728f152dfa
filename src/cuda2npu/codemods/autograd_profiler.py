"""The old profiler's ``use_cuda=``."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import argument

RULE = "NPU703"
FUNCTION = "torch.autograd.profiler.profile"


class AutogradProfiler(Codemod):
    """Names the device instead."""

    def visit_Call(self, node: cst.Call) -> None:
        arg = argument(node, None, "use_cuda")
        if arg is None or FUNCTION not in self.names.qualified(node.func):
            return
        text = self.spans.text(arg.value)
        if isinstance(arg.value, cst.Name) and text == "False":
            return
        device = '"npu"' if text == "True" else f'"npu" if {text} else None'
        self.unit.replace(RULE, self.spans[arg], f"use_device={device}", at=arg)
