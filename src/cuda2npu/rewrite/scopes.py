"""Scopes of a module, and what is bound in them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import libcst as cst


@dataclass(eq=False)
class Binding:
    """One place where a name gets a value.

    :param kind: import, star, assign, param, def, class, or other (loops, with, except, patterns …).
    :param node: the node that binds, such as an ImportAlias, a Name or a FunctionDef.
    :param target: dotted name of what an import binds.
    :param value: the expression that is assigned, where there is exactly one.
    :param block: the suite that the binding stands in; it runs when its suite does.
    """

    name: str
    kind: str
    node: cst.CSTNode
    scope: Scope
    order: int
    block: cst.CSTNode
    target: str | None = None
    value: cst.BaseExpression | None = None


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension, and what is bound and used in it."""

    kind: str
    node: cst.CSTNode
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=lambda: defaultdict(list))
    redirected: dict[str, Scope] = field(default_factory=dict)  # global and nonlocal

    def home(self, name: str) -> Scope:
        """The scope that a binding of ``name`` made here belongs to."""
        return self.redirected.get(name, self)


@dataclass(frozen=True)
class Use:
    """Where a name is read: its scope, its place in the order of the walk, the suites around it."""

    scope: Scope
    order: int


def find_scope(scope: Scope | None, name: str) -> Scope | None:
    """Return the scope in which ``name`` is bound, as seen from ``scope``."""
    start = scope
    while scope is not None:
        home = scope.redirected.get(name)
        if home is not None:
            return home
        # A class body is not seen from the functions inside it.
        if name in scope.bindings and (scope.kind != "class" or scope is start):
            return scope
        scope = scope.parent
    return None
