"""The one walk over a LibCST tree: scopes and bindings, parents, and the nodes by their types.

LibCST's own scope and qualified-name providers cost several times the parse; this walk costs a tenth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import libcst as cst

from cuda2npu.rewrite.scopes import Binding, Scope, Use, find_scope
from cuda2npu.rewrite.tree import children, dotted, parameters, takes_text_apart


class Walk:
    """The walk over one module, and what it has recorded.

    ``block`` is the suite that is being executed, ``scope`` the current scope.

    :param package: dotted name of the package that the file is in, for relative imports.
    """

    def __init__(self, module: cst.Module, package: str) -> None:
        self.module = module
        self.package = package
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.by_type: dict[type[cst.CSTNode], list[cst.CSTNode]] = defaultdict(list)
        self.attributes: dict[str, list[cst.Attribute]] = defaultdict(list)
        self.uses: dict[cst.Name, Use] = {}
        self.scopes: dict[cst.CSTNode, Scope] = {}
        self.imports: list[Binding] = []
        self.order = 0
        self.scope = self.inside("module", module)
        self.block: cst.CSTNode = module
        for statement in module.body:
            self.visit(statement, module)

    def visit(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        self.parents[node] = parent
        self.by_type[type(node)].append(node)
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
        self.uses[node] = Use(self.scope, self.order)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.attributes[node.attr.value].append(node)
        self.parents[node.attr] = node
        self.visit(node.value, node)

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is not None:
            self.parents[node.keyword] = node
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
            self.parents[target] = parent
            kind = "other" if value is None else "assign"
            self.bind(
                target.value, kind, target, value=value if isinstance(value, cst.BaseExpression) else None
            )
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.parents[target] = parent
            values: list[cst.CSTNode | None] = [None] * len(target.elements)
            if values and takes_text_apart(value):
                values[0] = value  # kind, _, number = device.partition(":")
            if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements):
                values = [v.value if isinstance(v, cst.Element) else None for v in value.elements]
            for element, part in zip(target.elements, values):
                self.parents[element] = target
                self.bind_target(element.value, element, part)
        else:
            self.visit(target, parent)

    # Statements that bind

    def visit_Assign(self, node: cst.Assign) -> None:
        self.visit(node.value, node)
        for target in node.targets:
            self.parents[target] = node
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
            self.parents[item.name] = node
            self.scope.redirected[item.name.value] = self.scopes[self.module]

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        for item in node.names:
            self.parents[item.name] = node
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
        self.parents[node.key] = node
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
            self.parents[alias] = node
            self._parent_chain(alias.name, alias)
            whole = dotted(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self.parents[alias.asname.name] = alias
                bound, target = alias.asname.name.value, whole
            else:
                bound = target = whole.split(".")[0]
            self.imports.append(self.bind(bound, "import", alias, target))

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = self.absolute(node)
        if node.module is not None:
            self._parent_chain(node.module, node)
        if isinstance(node.names, cst.ImportStar):
            self.imports.append(self.bind("*", "star", node, module))
            return
        for alias in node.names:
            self.parents[alias] = node
            self._parent_chain(alias.name, alias)
            name = dotted(alias.name) or ""
            bound = name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self.parents[alias.asname.name] = alias
                bound = alias.asname.name.value
            self.imports.append(self.bind(bound, "import", alias, f"{module}.{name}" if module else name))

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
        self.parents[node] = parent
        if isinstance(node, cst.Attribute):
            self.parents[node.attr] = node
            self._parent_chain(node.value, node)

    # Scopes

    def inside(self, kind: str, node: cst.CSTNode) -> Scope:
        scope = Scope(kind, node, getattr(self, "scope", None))
        self.scopes[node] = scope
        return scope

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.parents[node.name] = node
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
        self.parents[node.name] = node
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
            self.parents[comp] = parent
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
        self.parents[params] = owner
        for param in parameters(params):
            self.parents[param] = params
            self.parents[param.name] = param
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
