"""Members called ``cuda`` or ``is_cuda`` of the program's own classes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import libcst as cst

from cuda2npu.codemods.base import Codemod
from cuda2npu.rewrite.kinds import Known
from cuda2npu.rewrite.members import COUNTERPART, Member, class_members
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Unit

RULE = "NPU009"


class OwnMembers:
    """Finds the member that an attribute means, among those of the project's classes."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names = unit.names
        members = (*unit.index.members, *class_members(unit.names))
        self.members = {(member.owner, member.name): member for member in members}

    def of(self, node: cst.Attribute, known: Known, name: str) -> Member | None:
        """Return the program's own member that ``node`` means, if its class is in sight."""
        owner = known.owner or self.class_around(node) or self.class_elsewhere(node)
        return self.of_class(owner, name)

    def of_class(self, owner: str, name: str) -> Member | None:
        """Return the member ``name`` of the class called ``owner``, or of the nearest base that has one."""
        seen: list[str] = []
        waiting = [owner]
        while waiting:
            current = waiting.pop(0)
            if (current, name) in self.members:
                return self.members[current, name]
            seen.append(current)
            waiting += [base for base in self.bases.get(current, ()) if base not in seen]
        return None

    @cached_property
    def bases(self) -> dict[str, list[str]]:
        """The classes of this file, and the last names of their bases."""
        return {
            node.name.value: [(dotted(base.value) or "").rpartition(".")[2] for base in node.bases]
            for node in self.names.nodes(cst.ClassDef)
        }

    def class_elsewhere(self, node: cst.Attribute) -> str:
        """Return the class, imported from another file of the project, that the receiver was made by."""
        for binding in self.names.lookup(node.value) if isinstance(node.value, cst.Name) else ():
            if isinstance(binding.value, cst.Call):
                for target in self.names.qualified(binding.value.func):
                    if self.unit.is_of_project(target):
                        return target.rpartition(".")[2]
        return ""

    def class_around(self, node: cst.Attribute) -> str:
        """Return the class whose ``self`` (or ``cls``) the attribute is taken from."""
        if isinstance(node.value, cst.Name) and node.value.value in ("self", "cls"):
            around = self.names.enclosing(node, cst.ClassDef)
            return around.name.value if around is not None else ""
        return ""

    def is_method(self, targets: Iterable[str]) -> bool:
        """Whether a dotted name is a method that a class in another file of the project has."""
        for target in targets:
            module, _, name = target.rpartition(".")
            member = self.members.get((module.rpartition(".")[2], name))
            if member is not None and member.moves and self.unit.is_of_project(target):
                return True
        return False


class OwnDefinition(Codemod):
    """Renames the definitions that move, as every call of them is."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.own = OwnMembers(unit)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        for name, new in COUNTERPART.items():
            bindings = [b for b in self.names.scopes[node].bindings.get(name, ()) if b.kind != "import"]
            if not bindings:
                continue
            member = self.own.of_class(node.name.value, name)
            moves = member is not None and member.moves
            defined = [b.node.name if isinstance(b.node, cst.FunctionDef) else b.node for b in bindings]
            for place in (*defined, *self.names.references(bindings[0])) if moves else ():
                self.unit.replace(RULE, self.spans[place], new, at=place, npu=False)
            if not moves:
                for place in defined:
                    self.unit.keep(place, "own-member", RULE)
