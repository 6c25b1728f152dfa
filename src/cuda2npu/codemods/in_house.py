"""Counterparts outside of torch, in modules that a user's rules name: they have to be imported, too."""

from __future__ import annotations

import libcst as cst

from cuda2npu.catalog.rules import Row
from cuda2npu.rewrite.insertion import place_after
from cuda2npu.rewrite.scopes import Binding
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Mapping, Unit, is_in_house


def module_of(name: str) -> str:
    """Return the module that ``name`` is in; a part with a capital letter is a class, and not a module."""
    parts = name.split(".")[:-1]
    first_class = next((number for number, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return ".".join(parts[:first_class])


class InHouse:
    """Finds names for such counterparts in one file, and imports what they need."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names = unit.names
        unit.imported.update(module for module in map(_plain_module, self.names.imports) if module)

    def whole_module(self, binding: Binding, module: str) -> Mapping | None:
        """Return where an imported module or class goes: all that the file takes from it goes there."""
        if module not in self.unit.catalog.modules or module.partition(".")[0] in ("torch", "torch_npu"):
            return None
        found: dict[str, Mapping] = {}
        for name in self.names.references(binding):
            taken = self.names.chain(name, binding.target or "")
            if f"{module}.".startswith(f"{taken}.") and not self._is_compared(name):
                return None  # the module itself is handed on, and what is done with it can't be seen
            if not taken.startswith(f"{module}."):
                continue
            mapping = self.unit.mapping(taken)
            if mapping is None or mapping.rule.codemod != "symbol" or not is_in_house(mapping.to):
                return None
            owner, to = mapping.name.rpartition(".")[0], mapping.to.rpartition(".")[0]
            found[mapping.to if mapping.name == module else to if owner == module else ""] = mapping
        if len(found) != 1 or "" in found:
            return None
        ((to, mapping),) = found.items()
        if to == module:
            return None  # names within the module change, and the import stays
        if isinstance(self.names.parents[binding.node], cst.Import) and module_of(f"{to}.") != to:
            return None  # import can't name a class
        return Mapping(module, to, mapping.rule, Row(module, to))

    def _is_compared(self, name: cst.Name) -> bool:
        """``gpu is not None``, behind an import that may have failed."""
        parent = self.names.parents[name]
        return isinstance(parent, cst.Comparison) and all(
            isinstance(target.operator, (cst.Is, cst.IsNot)) for target in parent.comparisons
        )

    def new_name(self, root: cst.Name, binding: Binding, target: str, to: str) -> list[str] | None:
        """Return the parts by which ``to`` can be reached where ``root`` stands, once it is imported."""
        plan = self.unit.plans.get(binding)
        local, now = (plan.local, plan.target) if plan is not None else (root.value, target)
        if binding.kind == "assign":  # the assigned value is a chain of its own, and moves as one
            moved = self.unit.mapping(target)
            now = moved.to if moved is not None else ""
        within = now and f"{to}.".startswith(f"{now}.")
        if within and (plan is not None or binding.kind == "assign" or module_of(to) == now):
            return [local, *to[len(now) + 1 :].split(".")] if to != now else [local]
        if binding.kind != "import":
            return None
        top, _, rest = to.partition(".")
        reachable = self.unit.name_of(top, root)
        if reachable is None and not self.names.is_free(top):
            return None
        return [reachable or top, *rest.split(".")]

    def import_beside(self, binding: Binding, to: str, code: str) -> None:
        """Import the module of ``to`` behind the import by which its old name is reached, unless it is."""
        module, plan = module_of(to), self.unit.plans.get(binding)
        covered = plan is not None and f"{to}.".startswith(f"{plan.target}.")
        if covered or binding.kind != "import" or module in self.unit.imported or module == binding.target:
            return
        self.unit.imported.add(module)
        statement = self.names.parents[binding.node] if _is_alias(binding.node) else binding.node
        assert isinstance(statement, cst.BaseSmallStatement)
        place = place_after(self.unit, statement)
        at = Span(place.offset, place.offset)
        text = place.wrap(f"import {module}")
        self.unit.replace(code, at, text, at=statement, npu=False, site=False)


def _is_alias(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.ImportAlias)


def _plain_module(binding: Binding) -> str:
    """Return the module that ``import a.b.c`` makes reachable by its whole name; empty for other imports."""
    node = binding.node
    if not isinstance(node, cst.ImportAlias) or node.asname is not None or binding.scope.parent is not None:
        return ""
    name = dotted(node.name) or ""
    return name if binding.target == name.partition(".")[0] else ""
