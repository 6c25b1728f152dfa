"""Scopes, imports and qualified names of one file, from one walk over its LibCST tree.

LibCST's own scope and qualified-name providers cost several times the parse; this walk costs a tenth
of it and records, on the way, the parents of all nodes and the nodes by type that codemods ask for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import libcst as cst

from cuda2npu.rewrite.tree import children, dotted

_N = TypeVar("_N", bound=cst.CSTNode)


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


class Names:
    """Everything about the names in one module.

    :param module: the parsed file.
    :param package: dotted name of the package that the file is in, for relative imports.
    """

    def __init__(self, module: cst.Module, package: str = "") -> None:
        self.module = module
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.by_type: dict[type[cst.CSTNode], list[cst.CSTNode]] = defaultdict(list)
        self.uses: dict[cst.Name, Use] = {}
        self.scopes: dict[cst.CSTNode, Scope] = {}
        self.imports: list[Binding] = []
        self.attributes: dict[str, list[cst.Attribute]] = defaultdict(list)
        self._by_name: dict[str, list[cst.Name]] = defaultdict(list)
        walk = _Walk(self, package)
        walk.run()
        self.top = self.scopes[module]

    def nodes(self, node_type: type[_N]) -> list[_N]:
        """All nodes of exactly this type, in the order of the walk."""
        return self.by_type[node_type]  # type: ignore[return-value]

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
            if binding.order > use.order:
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


class _Walk:
    """The walk itself. ``block`` is the suite that is being executed, ``scope`` the current scope."""

    def __init__(self, names: Names, package: str) -> None:
        self.names = names
        self.package = package
        self.order = 0
        self.scope = Scope("module", names.module, None)
        self.block: cst.CSTNode = names.module
        names.scopes[names.module] = self.scope

    def run(self) -> None:
        for statement in self.names.module.body:
            self.visit(statement, self.names.module)

    def visit(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        self.names.parents[node] = parent
        self.names.by_type[type(node)].append(node)
        self.order += 1
        special = getattr(self, f"visit_{type(node).__name__}", None)
        if special is not None:
            special(node)
        else:
            self.visit_children(node)

    def visit_children(self, node: cst.CSTNode) -> None:
        for child in children(node):
            self.visit(child, node)

    def visit_all(self, nodes: Iterable[cst.CSTNode | None], parent: cst.CSTNode) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node, parent)

    # Names

    def visit_Name(self, node: cst.Name) -> None:
        self.names.uses[node] = Use(self.scope, self.order)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.names.attributes[node.attr.value].append(node)
        self.names.parents[node.attr] = node
        self.visit(node.value, node)

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is not None:
            self.names.parents[node.keyword] = node
        self.visit(node.value, node)

    def bind(
        self,
        name: str,
        kind: str,
        node: cst.CSTNode,
        target: str | None = None,
        value: cst.BaseExpression | None = None,
    ) -> Binding:
        scope = self.scope.home(name)
        binding = Binding(name, kind, node, scope, self.order, self.block, target, value)
        scope.bindings[name].append(binding)
        return binding

    def bind_target(self, target: cst.CSTNode, parent: cst.CSTNode, value: cst.CSTNode | None = None) -> None:
        """Bind what stands to the left of ``=``, in a ``for``, a ``with`` …"""
        if isinstance(target, cst.Name):
            self.names.parents[target] = parent
            kind = "other" if value is None else "assign"
            self.bind(
                target.value, kind, target, value=value if isinstance(value, cst.BaseExpression) else None
            )
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.names.parents[target] = parent
            values: list[cst.CSTNode | None] = [None] * len(target.elements)
            if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements):
                values = [v.value if isinstance(v, cst.Element) else None for v in value.elements]
            for element, part in zip(target.elements, values):
                self.names.parents[element] = target
                self.bind_target(element.value, element, part)
        else:
            self.visit(target, parent)

    # Statements that bind

    def visit_Assign(self, node: cst.Assign) -> None:
        self.visit(node.value, node)
        for target in node.targets:
            self.names.parents[target] = node
            self.bind_target(target.target, target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self.visit_all((node.annotation, node.value), node)
        self.bind_target(node.target, node, node.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self.visit(node.value, node)
        if isinstance(node.target, cst.Name):
            self.visit(node.target, node)
        self.bind_target(node.target, node)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.visit(node.value, node)
        inner = self.scope
        while self.scope.kind == "comprehension" and self.scope.parent is not None:
            self.scope = self.scope.parent
        self.bind_target(node.target, node, node.value)
        self.scope = inner

    def visit_For(self, node: cst.For) -> None:
        self.visit(node.iter, node)
        self.bind_target(node.target, node)
        self.visit_all((node.body, node.orelse), node)

    def visit_AsName(self, node: cst.AsName) -> None:
        self.bind_target(node.name, node)

    def visit_Global(self, node: cst.Global) -> None:
        for item in node.names:
            self.names.parents[item.name] = node
            self.scope.redirected[item.name.value] = self.names.scopes[self.names.module]

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        for item in node.names:
            self.names.parents[item.name] = node
            home = find_scope(self.scope.parent, item.name.value)
            if home is not None:
                self.scope.redirected[item.name.value] = home

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        self.visit_all((node.pattern,), node)
        if node.name is not None:
            self.bind_target(node.name, node)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        if node.name is not None:
            self.bind_target(node.name, node)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        self.visit_all(node.elements, node)
        if node.rest is not None:
            self.bind_target(node.rest, node)

    def visit_MatchKeywordElement(self, node: cst.MatchKeywordElement) -> None:
        self.names.parents[node.key] = node
        self.visit(node.pattern, node)

    def visit_TypeAlias(self, node: cst.CSTNode) -> None:
        self.visit_all((getattr(node, "type_parameters", None), getattr(node, "value", None)), node)
        self.bind_target(node.name, node)  # type: ignore[attr-defined]

    def visit_TypeVar(self, node: cst.CSTNode) -> None:
        self.visit_all((getattr(node, "bound", None),), node)
        self.bind_target(node.name, node)  # type: ignore[attr-defined]

    visit_TypeVarTuple = visit_TypeVar
    visit_ParamSpec = visit_TypeVar

    # Imports

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            self.names.parents[alias] = node
            self._parent_chain(alias.name, alias)
            whole = dotted(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self.names.parents[alias.asname.name] = alias
                bound, target = alias.asname.name.value, whole
            else:
                bound = target = whole.split(".")[0]
            self.names.imports.append(self.bind(bound, "import", alias, target))

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = self.absolute(node)
        if node.module is not None:
            self._parent_chain(node.module, node)
        if isinstance(node.names, cst.ImportStar):
            self.names.imports.append(self.bind("*", "star", node, module))
            return
        for alias in node.names:
            self.names.parents[alias] = node
            self._parent_chain(alias.name, alias)
            name = dotted(alias.name) or ""
            bound = name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self.names.parents[alias.asname.name] = alias
                bound = alias.asname.name.value
            self.names.imports.append(
                self.bind(bound, "import", alias, f"{module}.{name}" if module else name)
            )

    visit_LazyImport = visit_Import
    visit_LazyImportFrom = visit_ImportFrom

    def absolute(self, node: cst.ImportFrom) -> str:
        """Return the absolute name of the module that ``node`` imports from."""
        module = dotted(node.module) or ""
        if not node.relative:
            return module
        parts = self.package.split(".") if self.package else []
        up = len(node.relative) - 1
        parts = parts[: len(parts) - up] if up else parts
        # A relative import is never torch's, even where the package's own name isn't known.
        return ".".join([*(parts or ["."]), *([module] if module else [])])

    def _parent_chain(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        self.names.parents[node] = parent
        if isinstance(node, cst.Attribute):
            self.names.parents[node.attr] = node
            self._parent_chain(node.value, node)

    # Scopes

    def inside(self, kind: str, node: cst.CSTNode) -> Scope:
        scope = Scope(kind, node, self.scope)
        self.names.scopes[node] = scope
        return scope

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.names.parents[node.name] = node
        self.visit_all(node.decorators, node)
        self._defaults(node.params, node)
        self.visit_all((node.returns,), node)
        self.bind(node.name.value, "def", node)
        outer, block = self.scope, self.block
        self.scope = self.inside("function", node)
        self.block = node.body
        self.visit_all((node.type_parameters,), node)
        self._bind_params(node.params)
        self.visit(node.body, node)
        self.scope, self.block = outer, block

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self._defaults(node.params, node)
        outer, block = self.scope, self.block
        self.scope = self.inside("function", node)
        self.block = node.body
        self._bind_params(node.params)
        self.visit(node.body, node)
        self.scope, self.block = outer, block

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.names.parents[node.name] = node
        self.visit_all((*node.decorators, *node.bases, *node.keywords), node)
        self.bind(node.name.value, "class", node)
        outer, block = self.scope, self.block
        self.scope = self.inside("class", node)
        self.block = node.body
        self.visit_all((node.type_parameters,), node)
        self.visit(node.body, node)
        self.scope, self.block = outer, block

    def visit_ListComp(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp) -> None:
        self.visit(node.for_in.iter, node.for_in)  # the first iterable belongs to the scope around
        outer = self.scope
        self.scope = self.inside("comprehension", node)
        comp: cst.CompFor | None = node.for_in
        parent: cst.CSTNode = node
        while comp is not None:
            self.names.parents[comp] = parent
            if comp is not node.for_in:
                self.visit(comp.iter, comp)
            self.bind_target(comp.target, comp)
            self.visit_all(comp.ifs, comp)
            parent, comp = comp, comp.inner_for_in
        for name in ("elt", "key", "value"):
            self.visit_all((getattr(node, name, None),), node)
        self.scope = outer

    visit_SetComp = visit_ListComp
    visit_GeneratorExp = visit_ListComp
    visit_DictComp = visit_ListComp
    visit_StarredDictComp = visit_ListComp

    def _defaults(self, params: cst.Parameters, owner: cst.CSTNode) -> None:
        """Defaults and annotations are evaluated outside the function."""
        self.names.parents[params] = owner
        for param in parameters(params):
            self.names.parents[param] = params
            self.names.parents[param.name] = param
            self.visit_all((param.annotation, param.default), param)

    def _bind_params(self, params: cst.Parameters) -> None:
        for param in parameters(params):
            self.bind(param.name.value, "param", param, value=param.default)

    # Suites

    def visit_IndentedBlock(self, node: cst.IndentedBlock | cst.SimpleStatementSuite) -> None:
        outer, self.block = self.block, node
        self.visit_children(node)
        self.block = outer

    visit_SimpleStatementSuite = visit_IndentedBlock


def parameters(params: cst.Parameters) -> Iterator[cst.Param]:
    """Yield the parameters in the order in which they stand."""
    yield from params.posonly_params
    yield from params.params
    if isinstance(params.star_arg, cst.Param):
        yield params.star_arg
    yield from params.kwonly_params
    if params.star_kwarg is not None:
        yield params.star_kwarg
