"""Gated activations: silu(gate) * up is SwiGLU, gelu(gate) * up of two halves is GEGLU."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.performance.advice import Advice
from cuda2npu.rewrite.scopes import Binding
from cuda2npu.rewrite.tree import dotted

SWIGLU = "NPU804"
GEGLU = "NPU805"
_SILU = ("torch.nn.functional.silu", "torch.nn.functional.swish")
_GELU = ("torch.nn.functional.gelu",)


class Gates(Advice):
    """Reports the product."""

    CODES = (SWIGLU, GEGLU)
    CHIPS = frozenset({"ascend910b", "ascend910_93"})

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        factors = self.factors(node) if self.wanted else None
        if factors is None:
            return
        for gate, up in (factors, factors[::-1]):
            for value in self.values(gate):
                if isinstance(value, cst.Call) and len(value.args) >= 1:
                    self.look_at(node, value, up)

    def look_at(self, product: cst.BinaryOperation, activation: cst.Call, up: cst.BaseExpression) -> None:
        gate = activation.args[0].value
        if self.spans.text(gate) == self.spans.text(up) or not self.is_tensor(up):
            return  # x * silu(x) is something else, and so is a scale
        if self.is_activation(activation, _SILU, "torch.nn.SiLU"):
            self.unit.report(SWIGLU, product)
        elif self.is_activation(activation, _GELU, "torch.nn.GELU") and self.are_halves(gate, up):
            self.unit.report(GEGLU, product)

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is computed, or a part of what is: no number."""
        if isinstance(node, cst.Call):
            return True
        return isinstance(node, cst.Name) and any(
            isinstance(binding.value, cst.Call) or self.split(binding) is not None
            for binding in self.names.lookup(node)
        )

    def is_activation(self, call: cst.Call, functions: tuple[str, ...], module: str) -> bool:
        """Whether ``call`` is of the function, or of the module that the class has under this name."""
        if self.called(call, *functions):
            return True
        name, owner = dotted(call.func) or "", self.names.enclosing(call, cst.ClassDef)
        if not name.startswith("self.") or owner is None:
            return False
        for assign in self.names.nodes(cst.Assign):
            value = assign.value
            if isinstance(value, cst.Call) and self.called(value, module):
                targets = {self.spans.text(target.target) for target in assign.targets}
                if name in targets and self.names.enclosing(assign, cst.ClassDef) is owner:
                    return True
        return False

    def are_halves(self, gate: cst.BaseExpression, up: cst.BaseExpression) -> bool:
        """Whether the two come from one call that cuts a tensor into two."""
        if not isinstance(gate, cst.Name) or not isinstance(up, cst.Name):
            return False
        splits = [self.split(b) for b in (*self.names.lookup(gate)[:1], *self.names.lookup(up)[:1])]
        return len(splits) == 2 and splits[0] is not None and splits[0] is splits[1]

    def split(self, binding: Binding) -> cst.Call | None:
        """Return the ``chunk(2)`` whose halves ``binding`` takes one of."""
        assign = self.names.enclosing(binding.node, cst.Assign)
        value = assign.value if assign is not None and binding.value is None else None
        if not isinstance(value, cst.Call):
            return None
        is_chunk = self.method(value) in ("chunk", "tensor_split") or self.called(value, "torch.chunk")
        return value if is_chunk and any(self.spans.text(arg.value) == "2" for arg in value.args) else None
