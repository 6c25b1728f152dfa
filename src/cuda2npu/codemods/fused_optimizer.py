"""Fused optimizers that are stepped by a GradScaler."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.grades import Severity
from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.tree import argument
from cuda2npu.rewrite.unit import Unit

RULE = "NPU425"
_OPTIMIZERS = {"torch.optim.Adam", "torch.optim.AdamW", "torch.optim.SGD"}
_SCALERS = {
    "torch.GradScaler",
    "torch.amp.GradScaler",
    "torch.cuda.amp.GradScaler",
    "torch.npu.amp.GradScaler",
    "torch_npu.npu.amp.GradScaler",
}


class FusedOptimizer(Codemod):
    """Reports ``fused=True`` in a file that makes a GradScaler: gravely, if the scaler is always on."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.optimizers: list[tuple[str, cst.Arg]] = []
        self.switches: list[str] = []  # what each scaler is given for enabled

    def visit_Call(self, node: cst.Call) -> None:
        fused = argument(node, None, "fused")
        if fused is None and isinstance(node.func, cst.Attribute) and node.func.attr.value != "GradScaler":
            return  # a cheap test before the exact one
        names = self.names.qualified(node.func)
        if fused is not None and self.spans.text(fused.value) == "True":
            self.optimizers += [(name, fused) for name in names & _OPTIMIZERS]
        if names & _SCALERS:
            enabled = argument(node, None, "enabled")
            self.switches.append(self.spans.text(enabled.value) if enabled is not None else "True")

    def finish(self) -> None:
        on = [switch for switch in self.switches if switch != "False"]
        severity = Severity.BLOCKER if "True" in on else Severity.MANUAL
        for name, fused in self.optimizers if on else ():
            if not self.is_dropped(name):
                self.unit.report(RULE, fused, severity=severity)

    def is_dropped(self, optimizer: str) -> bool:
        """Whether the target has no kernel for the optimizer, so that another rule takes the argument out."""
        return any(row.name == f"{optimizer}(fused=True)" for _, row in self.unit.catalog.others["call"])
