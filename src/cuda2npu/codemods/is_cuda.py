"""``.is_cuda``: torch's own is renamed, and the program's own one moves with its definition."""

from __future__ import annotations

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.own_members import OwnMembers
from cuda2npu.codemods.torchscript import TorchScript
from cuda2npu.rewrite.kinds import Kind
from cuda2npu.rewrite.unit import Unit

RULE = "NPU005"
# Names of objects that hold settings: what is_cuda says there is the program's own.
_SETTINGS = {
    "self", "ctx", "cfg", "config", "args", "opt", "opts", "options", "params", "hparams", "state",
    "settings",
}  # fmt: skip


class IsCuda(Codemod):
    """Decides about every attribute called ``is_cuda``."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.own = OwnMembers(unit)
        self.script = TorchScript(unit)
        self.has_own_flag = any(m.name == "is_cuda" and m.kind == "data" for m in self.own.members.values())

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value == "is_cuda" and not self.names.qualified(node):
            self.decide(node)

    def decide(self, node: cst.Attribute) -> None:
        parent = self.names.parents[node]
        known = self.unit.kinds.of(node.value)
        member = self.own.of(node, known, "is_cuda")
        own = self.is_own_flag(node) if member is None else not member.moves
        if own or self.is_given_by_keyword(node) or isinstance(parent, (cst.AssignTarget, cst.AnnAssign)):
            self.unit.keep(node.attr, "own-member")
        elif member is None and known.kind in (Kind.FOREIGN, Kind.OWN, Kind.MODULE):
            self.unit.keep(node.attr, "foreign-object")
        else:
            self.script.rename(node, RULE, "is_npu")

    def is_own_flag(self, node: cst.Attribute) -> bool:
        """Whether ``node`` reads a flag of the program's own: set in this file, or in some settings."""
        receiver = self.spans.text(node.value)
        if self.has_own_flag and receiver.rpartition(".")[2] in _SETTINGS:
            return True
        targets = (self.names.parents[attribute] for attribute in self.names.attributes["is_cuda"])
        return any(
            isinstance(t, cst.AssignTarget) and self.spans.text(t.target) == f"{receiver}.is_cuda"
            for t in targets
        )

    def is_given_by_keyword(self, node: cst.Attribute) -> bool:
        """Whether the receiver was made by a call that names the attribute: ``Opts(is_cuda=…)``."""
        if not isinstance(node.value, cst.Name):
            return False
        for binding in self.names.lookup(node.value):
            call = binding.value
            if isinstance(call, cst.Call):
                return any(
                    arg.keyword is not None and arg.keyword.value == node.attr.value for arg in call.args
                )
        return False
