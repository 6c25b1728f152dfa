"""What all codemods have in common."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.rewrite.kinds import Kind
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Unit

_SHOW = {"print", "str", "repr", "format", "info", "debug", "warning", "error", "log", "write"}
_ORDER = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


class Codemod:
    """One kind of rewrite, in the form of a LibCST visitor.

    The tree is walked once for all codemods: for each ``visit_<Node>`` method of a codemod, the engine
    calls it with every node of that type, in the order of the walk. ``finish`` is called at the end.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names = unit.names
        self.spans = unit.spans

    def finish(self) -> None:
        """Do what needs all nodes to have been seen."""

    def is_chain_end(self, node: cst.Attribute | cst.Name) -> bool:
        """Whether ``node`` is a whole dotted chain and not the start of a longer one."""
        parent = self.names.parents.get(node)
        return not (isinstance(parent, cst.Attribute) and parent.value is node)

    def may_be_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` may be torch's; where arrays of another library are about, it must be."""
        if isinstance(node, cst.Name) and node.value in ("self", "cls"):
            return False
        kind = self.unit.kinds.of(node).kind
        if kind is Kind.UNKNOWN:
            return self.unit.uses_torch and not self.unit.uses_foreign
        return kind is Kind.TORCH

    def is_device_object(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` visibly is a torch.device: a call that makes one, or a name for its result."""
        if isinstance(node, cst.Call):
            return "torch.device" in self.names.qualified(node.func)
        if not isinstance(node, cst.Name):
            return False
        made = [binding.value for binding in self.names.lookup(node)]
        return bool(made) and all(isinstance(call, cst.Call) and self.is_device_object(call) for call in made)

    def severity_of_none(self, node: cst.CSTNode) -> Severity:
        """Return what it means that ``node`` is None on the NPU: nothing if it is only shown."""
        parent = self.names.parents[node]
        if isinstance(parent, (cst.Attribute, cst.Subscript)) and parent.value is node:
            return Severity.BLOCKER
        if isinstance(parent, cst.Assign):
            unpacked = any(isinstance(t.target, (cst.Tuple, cst.List)) for t in parent.targets)
            return Severity.BLOCKER if unpacked else Severity.MANUAL
        if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
            return Severity.BLOCKER if self._is_ordered(parent) else Severity.MANUAL
        if isinstance(parent, cst.FormattedStringExpression):
            return Severity.INFO
        call = self.names.parents.get(parent)
        if isinstance(parent, cst.Arg) and isinstance(call, cst.Call):
            if parent.star:
                return Severity.BLOCKER
            shown = (dotted(call.func) or "").rpartition(".")[2] in _SHOW
            return Severity.INFO if shown else Severity.MANUAL
        return Severity.MANUAL

    def _is_ordered(self, node: cst.Comparison | cst.ComparisonTarget) -> bool:
        comparison = node if isinstance(node, cst.Comparison) else self.names.parents[node]
        assert isinstance(comparison, cst.Comparison)
        return any(isinstance(target.operator, _ORDER) for target in comparison.comparisons)
