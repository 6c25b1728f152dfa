"""What all codemods have in common."""

from __future__ import annotations

import libcst as cst

from cuda2npu.rewrite.unit import Unit


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

    def is_device_object(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` visibly is a torch.device: a call that makes one, or a name for its result."""
        if isinstance(node, cst.Call):
            return "torch.device" in self.names.qualified(node.func)
        if not isinstance(node, cst.Name):
            return False
        made = [binding.value for binding in self.names.lookup(node)]
        return bool(made) and all(isinstance(call, cst.Call) and self.is_device_object(call) for call in made)
