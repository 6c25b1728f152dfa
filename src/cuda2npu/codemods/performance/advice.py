"""What the patterns have in common: they look only when asked, and follow values through the file."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.unit import Unit

_DEPTH = 12  # steps from a value to what it was made of
# Methods that change a tensor's type or layout, not what it means.
_SAME = {"to", "float", "half", "bfloat16", "double", "type_as", "contiguous", "npu", "cuda", "clone"}
_MASKS = {"masked_fill", "masked_fill_", "add", "add_", "mul", "mul_", "div", "div_"}
_TRANSPOSES = {"transpose", "permute", "swapaxes", "t"}
_PRODUCTS = {"torch.matmul", "torch.bmm", "torch.baddbmm"}


class Advice(Codemod):
    """A pattern.

    ``CODES`` are the rules that it reports under, and ``CHIPS`` those that have the operator; empty for all.
    """

    CODES: tuple[str, ...] = ()
    CHIPS: frozenset[str] = frozenset()

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        has_chip = not self.CHIPS or unit.settings.target.soc in self.CHIPS
        self.wanted = has_chip and any(unit.settings.selects(code, False) for code in self.CODES)

    def called(self, call: cst.Call, *names: str) -> bool:
        """Whether ``call`` is of one of the functions with these dotted names."""
        return not self.names.qualified(call.func).isdisjoint(names)

    def method(self, node: cst.CSTNode) -> str:
        """Return the name of the method that ``node`` calls; empty if it is no such call."""
        is_method = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
        return node.func.attr.value if is_method else ""  # type: ignore[attr-defined]

    def values(self, node: cst.CSTNode) -> list[cst.BaseExpression]:
        """Return what a name may have been assigned; the node itself if it is no name."""
        if isinstance(node, cst.Name):
            return [binding.value for binding in self.names.lookup(node) if binding.value is not None]
        return [node] if isinstance(node, cst.BaseExpression) else []

    def behind(self, node: cst.CSTNode, depth: int = _DEPTH) -> Iterator[cst.BaseExpression]:
        """Yield what ``node`` is made of, through names, casts, dropout, masks, sums and scales."""
        for value in self.values(node) if depth else ():
            yield value
            for part in self.parts(value):
                yield from self.behind(part, depth - 1)

    def parts(self, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        if isinstance(value, cst.BinaryOperation) and isinstance(
            value.operator, (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)
        ):
            yield from (value.left, value.right)
        elif isinstance(value, cst.IfExp):
            yield from (value.body, value.orelse)
        elif isinstance(value, cst.Call):
            name = self.method(value)
            if name in _SAME | _MASKS:
                assert isinstance(value.func, cst.Attribute)
                yield value.func.value
            if value.args and (
                "drop" in self.spans.text(value.func).lower() or self.called(value, "torch.where")
            ):
                yield from (arg.value for arg in value.args)

    def is_transposed(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` visibly has its axes swapped."""
        for value in self.values(node):
            if self.method(value) in _TRANSPOSES:
                return True
            if isinstance(value, cst.Attribute) and value.attr.value in ("T", "mT", "H"):
                return True
            if isinstance(value, cst.Call) and self.called(value, "torch.transpose", "torch.permute"):
                return True
        return False

    def product(self, node: cst.CSTNode) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
        """Return the two sides of a matrix product; None if ``node`` is none."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
            return node.left, node.right
        if not isinstance(node, cst.Call):
            return None
        given = [arg.value for arg in node.args if arg.keyword is None]
        if len(given) >= 2 and self.called(node, *_PRODUCTS):
            return given[-2], given[-1]
        if len(given) == 1 and self.method(node) in ("matmul", "bmm"):
            assert isinstance(node.func, cst.Attribute)
            return node.func.value, given[0]
        return None

    def factors(self, node: cst.CSTNode) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
        """Return the two factors of an element-wise product; None if ``node`` is none."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            return node.left, node.right
        return None
