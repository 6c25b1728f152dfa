"""``torch.set_default_tensor_type`` with a CUDA type, which torch_npu refuses."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.insertion import place_after
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted, string_value
from cuda2npu.rewrite.unit import Unit

RULE = "NPU010"
ELSEWHERE = "NPU020"
FUNCTION = "torch.set_default_tensor_type"
# The dtype of each legacy type, as torch.tensortype documents it.
_DTYPES = {
    "HalfTensor": "float16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "BFloat16Tensor": "bfloat16",
}


class DefaultTensorType(Codemod):
    """Sets the default dtype and the default device instead."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.to_cuda: list[cst.Call] = []
        self.to_cpu: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        if len(node.args) != 1 or FUNCTION not in self.names.qualified(node.func):
            return
        value = node.args[0].value
        text = string_value(value)
        names = {text} if text is not None else self.names.qualified(value)
        cuda = [name for name in names if name.startswith("torch.cuda.")]
        if cuda and (len(names) > 1 or self.is_chosen(value)):
            self.claim(value)
            self.unit.report(RULE, node)
        elif cuda:
            self.claim(value)
            self.to_cuda.append(node)
            self.replace(node, _DTYPES.get(cuda[0].rpartition(".")[2]))
        elif any(name.rpartition(".")[2] in _DTYPES for name in names):
            self.to_cpu.append(node)
        else:  # a variable: which type it is can't be seen
            self.unit.report(RULE, node)

    def is_chosen(self, value: cst.BaseExpression) -> bool:
        """Whether the type comes from a variable that a condition decides about."""
        bindings = self.names.lookup(value) if isinstance(value, cst.Name) else []
        return len(bindings) > 1 or any(
            isinstance(b.value, (cst.IfExp, cst.BooleanOperation)) for b in bindings
        )

    def claim(self, value: cst.BaseExpression) -> None:
        """No other codemod is to rename the type: torch_npu doesn't take it here."""
        claimed: cst.CSTNode = value
        self.unit.claimed.add(claimed)
        while isinstance(claimed, cst.Attribute):
            claimed = claimed.value
            self.unit.claimed.add(claimed)

    def replace(self, node: cst.Call, dtype: str | None) -> None:
        torch = self.torch_of(node)
        if dtype is None or torch is None:
            self.unit.report(RULE, node)
            return
        parts = (f"{torch}.set_default_dtype({torch}.{dtype})", f'{torch}.set_default_device("npu")')
        statement = self.names.parents[node]
        if isinstance(statement, cst.Expr):
            place = place_after(self.unit, statement)
            after = f"{parts[0]}{place.break_line}{parts[1]}"
        else:
            after = f"({', '.join(parts)})"
        if self.unit.replace(RULE, self.spans[node], after, at=node):
            self.unit.report(ELSEWHERE, node)

    def torch_of(self, node: cst.Call) -> str | None:
        """Return the name by which ``node`` reaches torch."""
        func = node.func
        return dotted(func.value) if isinstance(func, cst.Attribute) else None

    def finish(self) -> None:
        """A CPU type that is set after a CUDA one has to take the default device back, too."""
        for node in self.to_cpu:
            torch = self.torch_of(node)
            if not self.to_cuda or self.is_the_other_case(node):
                continue
            statement = self.names.parents[node]
            if torch is None or not isinstance(statement, cst.Expr):
                self.unit.report(RULE, node)
                continue
            end = self.spans[node].end
            reset = f'{place_after(self.unit, statement).break_line}{torch}.set_default_device("cpu")'
            self.unit.replace(RULE, Span(end, end), reset, at=node, npu=False)

    def is_the_other_case(self, node: cst.Call) -> bool:
        """Whether ``node`` is what runs instead of the CUDA call: both can't have an effect."""
        around = {ancestor for ancestor in self.names.ancestors(node) if isinstance(ancestor, cst.If)}
        return any(around & set(self.names.ancestors(call)) for call in self.to_cuda)
