"""``torch.Tensor(3)`` in a program whose default tensor type was CUDA's."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted

RULE = "NPU018"
_SINCE = (2, 3)  # torch.get_default_device
_MOVES = {"cuda", "npu", "to"}


class LegacyConstructor(Codemod):
    """Sends the tensor to the default device, where the default type used to put it."""

    def visit_Call(self, node: cst.Call) -> None:
        if not self.unit.index.cuda_by_default or "torch.Tensor" not in self.names.qualified(node.func):
            return
        parent = self.names.parents[node]
        if isinstance(parent, cst.Attribute) and parent.attr.value in _MOVES:
            return
        torch = dotted(node.func.value) if isinstance(node.func, cst.Attribute) else None
        if torch is None or self.unit.version < _SINCE:
            self.unit.report(RULE, node)
            return
        end = self.spans[node].end
        self.unit.replace(RULE, Span(end, end), f".to({torch}.get_default_device())", at=node, npu=False)
