"""What the names in one file stand for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TypeVar

import libcst as cst

from cuda2npu.rewrite.scopes import Binding, Scope, find_scope
from cuda2npu.rewrite.walk import Walk

_N = TypeVar("_N", bound=cst.CSTNode)


class Names:
    """Everything about the names in one module.

    :param module: the parsed file.
    :param package: dotted name of the package that the file is in, for relative imports.
    """

    def __init__(self, module: cst.Module, package: str = "") -> None:
        walk = Walk(module, package)
        self.parents = walk.parents
        self.uses = walk.uses
        self.scopes = walk.scopes
        self.imports = walk.imports
        self.attributes = walk.attributes
        self._by_type = walk.by_type
        self._by_name: dict[str, list[cst.Name]] = defaultdict(list)
        self.top = self.scopes[module]

    def nodes(self, node_type: type[_N]) -> list[_N]:
        """All nodes of exactly this type, in the order of the walk."""
        return self._by_type[node_type]  # type: ignore[return-value]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the parent of ``node``, its parent, and so on."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def enclosing(self, node: cst.CSTNode, *types: type[_N]) -> _N | None:
        """Return the innermost ancestor of one of these types."""
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, types):
                return ancestor
        return None

    def scope_at(self, node: cst.CSTNode) -> Scope:
        """Return the scope that ``node`` is evaluated in (for a definition: the one around it)."""
        for ancestor in self.ancestors(node):
            scope = self.scopes.get(ancestor)
            if scope is not None:
                return scope
        return self.top

    def lookup(self, name: cst.Name) -> list[Binding]:
        """Return the bindings that may have given ``name`` its value, the last one first."""
        use = self.uses.get(name)
        if use is None:
            return []
        scope = find_scope(use.scope, name.value)
        if scope is None:
            return []
        bindings = scope.bindings[name.value]
        if scope is not use.scope:  # read from an inner function: any of them may have run last
            return list(reversed(bindings))
        around = {name, *self.ancestors(name)}
        reaching: list[Binding] = []
        for binding in reversed(bindings):
            if binding.order >= use.order:  # the last name in x = f(x) is read before x is bound anew
                continue
            reaching.append(binding)
            if binding.block in around:  # runs whenever we get here: hides the earlier ones
                break
        return reaching or list(reversed(bindings))

    def references(self, binding: Binding) -> list[cst.Name]:
        """Return every place in this file where the name of ``binding`` is read."""
        uses = self.named(binding.name)
        return [name for name in uses if find_scope(self.uses[name].scope, name.value) is binding.scope]

    def named(self, name: str) -> list[cst.Name]:
        """Return every place where any variable called ``name`` is read."""
        if not self._by_name:
            for use in self.uses:
                self._by_name[use.value].append(use)
        return self._by_name.get(name, [])

    def chain(self, name: cst.Name, target: str) -> str:
        """Return the dotted name of the chain that begins with ``name``, which stands for ``target``."""
        parts = [target]
        node: cst.CSTNode = name
        parent = self.parents[node]
        while isinstance(parent, cst.Attribute) and parent.value is node:
            parts.append(parent.attr.value)
            node, parent = parent, self.parents[parent]
        return ".".join(parts)

    def is_free(self, name: str) -> bool:
        """Whether nothing in this file is called ``name``."""
        return not self.named(name) and not any(name in scope.bindings for scope in self.scopes.values())

    def qualified(self, node: cst.CSTNode | None) -> frozenset[str]:
        """Return the dotted names that ``node`` may stand for; empty if that can't be told.

        ``th.cuda.Event`` under ``import torch as th`` is ``{"torch.cuda.Event"}``. What the file
        defines itself, and values that aren't modules or imported names, have no qualified name.
        """
        return self._qualified(node, frozenset())

    def _qualified(self, node: cst.CSTNode | None, seen: frozenset[Binding]) -> frozenset[str]:
        if isinstance(node, cst.Attribute):
            attr = node.attr.value
            return frozenset(f"{base}.{attr}" for base in self._qualified(node.value, seen))
        if not isinstance(node, cst.Name):
            return frozenset()
        found: set[str] = set()
        for binding in self.lookup(node):
            found |= self.targets(binding, seen)
        return frozenset(found)

    def targets(self, binding: Binding, seen: frozenset[Binding] = frozenset()) -> frozenset[str]:
        """Return the dotted names that ``binding`` may stand for: an import's, or an assigned value's."""
        if binding.target is not None:
            return frozenset({binding.target})
        if binding in seen or binding.kind != "assign":
            return frozenset()
        value = binding.value
        if isinstance(value, cst.IfExp):
            both = (value.body, value.orelse)
            return frozenset().union(*(self._qualified(part, seen | {binding}) for part in both))
        return self._qualified(value, seen | {binding})

    def add_import(self, star: Binding, name: str, target: str) -> None:
        """Record that the star import ``star`` brings ``name`` into this file."""
        binding = Binding(name, "import", star.node, star.scope, star.order, star.block, target)
        star.scope.bindings[name].append(binding)
        star.scope.bindings[name].sort(key=lambda b: b.order)
        self.imports.append(binding)
