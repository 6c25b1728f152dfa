"""Following values forwards, to what they are used as, and backwards, to what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable, Optional

import libcst as cst

from cuda2npu.rewrite.flow.calls import SAME_TEXT, Calls
from cuda2npu.rewrite.flow.cells import Cell, Cells
from cuda2npu.rewrite.flow.tables import Tables
from cuda2npu.rewrite.flow.topics import Topic
from cuda2npu.rewrite.flow.uses import Use
from cuda2npu.rewrite.kinds import Kind, Kinds
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.tree import string_value, takes_text_apart

ParameterOf = Callable[[str, int], Optional[str]]
_LITERALS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
_ASKS_FOR_CUDA = {"torch.cuda.is_available", "torch.cuda.device_count"}
_MAX_CELLS = 300  # where a search stops: so far from the literal nothing is evidence any more


class Flow:
    """Follows values of one topic through one file.

    :param parameter_of: what is known of functions in other files: the name of the parameter at a
        position of the imported function, or None.
    :param shared: names that hold such a value across the files of the project.
    :param is_of_project: whether a dotted name belongs to the project.
    """

    def __init__(
        self,
        names: Names,
        kinds: Kinds,
        topic: Topic,
        parameter_of: ParameterOf,
        shared: frozenset[str] = frozenset(),
        is_of_project: Callable[[str], bool] = bool,
    ) -> None:
        self.is_of_project = is_of_project
        self.parameter_of = parameter_of
        self.shared = shared
        self.names = names
        self.kinds = kinds
        self.topic = topic
        self.cells = Cells(names)
        self.tables = Tables(self)
        self.calls = Calls(self)
        self._known: dict[Cell, Use] = {}
        self._visited: set[Cell] = set()

    # Forwards: what becomes of a value

    def use_of(self, node: cst.CSTNode) -> Use:
        """Return what the value of ``node`` is used as."""
        parent = self.names.parents.get(node)
        if parent is None:
            return Use.UNKNOWN
        find = getattr(self, f"_in_{type(parent).__name__}", None)
        return find(node, parent) if find is not None else Use.UNKNOWN

    def into(self, target: cst.CSTNode) -> Use:
        """Return what the values of an assignment target are used as."""
        cell = self.cells.of(target)
        use = self.of_cell(cell) if cell is not None else Use.UNKNOWN
        # device_map["head"] = "cuda:0": an entry of the table, under a key of its own
        return max(use, self.into(target.value)) if isinstance(target, cst.Subscript) else use

    def _in_ConcatenatedString(self, node: cst.CSTNode, parent: cst.CSTNode) -> Use:
        return self.use_of(parent)

    _in_BooleanOperation = _in_Await = _in_UnaryOperation = _in_ConcatenatedString

    def _in_Element(self, node: cst.CSTNode, parent: cst.Element) -> Use:
        container = self.names.parents[parent]
        entry = self.names.parents[container]
        if isinstance(container, (cst.Tuple, cst.List)) and isinstance(entry, cst.Assign):
            targets = entry.targets[0].target
            if isinstance(targets, cst.Tuple) and len(targets.elements) == len(container.elements):
                return self.into(targets.elements[container.elements.index(parent)].value)
        if isinstance(container, cst.Tuple) and isinstance(entry, cst.BinaryOperation):
            first = container.elements[0] is parent
            listed = isinstance(entry.operator, cst.Add)
            return self.use_of(container) if first or listed else Use.UNKNOWN
        if isinstance(container, cst.Tuple) and isinstance(entry, cst.DictElement) and entry.key is container:
            return self.tables.keys_of(self.names.parents[entry], container.elements.index(parent))
        return self.use_of(container)

    def _in_IfExp(self, node: cst.CSTNode, parent: cst.IfExp) -> Use:
        if node is parent.test:
            return Use.UNKNOWN
        if isinstance(node, _LITERALS) and self.asks_for_cuda(parent.test):
            return Use.PROVEN
        return self.use_of(parent)

    def _in_BinaryOperation(self, node: cst.CSTNode, parent: cst.BinaryOperation) -> Use:
        same = isinstance(parent.operator, (cst.Add, cst.Modulo)) and node is parent.left
        # "%s:%d" % ("cuda", 0)
        same |= isinstance(parent.operator, cst.Modulo) and (string_value(parent.left) or "").startswith("%s")
        # The elements of the sum of two lists are those of both.
        listed = isinstance(parent.operator, cst.Add) and isinstance(node, (cst.List, cst.Tuple, cst.IfExp))
        return self.use_of(parent) if same or listed else Use.UNKNOWN

    def _in_FormattedStringExpression(self, node: cst.CSTNode, parent: cst.FormattedStringExpression) -> Use:
        string = self.names.parents[parent]
        first = isinstance(string, cst.FormattedString) and string.parts[0] is parent
        return self.use_of(string) if first else Use.UNKNOWN

    def _in_Attribute(self, node: cst.CSTNode, parent: cst.Attribute) -> Use:
        call = self.names.parents[parent]
        if parent.attr.value in SAME_TEXT and isinstance(call, cst.Call) and call.func is parent:
            return self.use_of(call)
        return Use.UNKNOWN

    def _in_Subscript(self, node: cst.CSTNode, parent: cst.Subscript) -> Use:
        return self.use_of(parent) if node is parent.value else Use.UNKNOWN

    def _in_Index(self, node: cst.CSTNode, parent: cst.Index) -> Use:
        """A literal as a key: it means what the other keys of the same table mean."""
        subscript = self.names.enclosing(parent, cst.Subscript)
        if subscript is None:
            return Use.UNKNOWN
        if self.names.qualified(subscript.value) & {"typing.Literal", "typing_extensions.Literal"}:
            return self._annotated(subscript)
        return self.tables.keys_of(subscript.value)

    def _annotated(self, node: cst.CSTNode) -> Use:
        """A literal in ``Literal[…]``: it means what the annotated variable means."""
        annotation = self.names.enclosing(node, cst.Annotation)
        owner = self.names.parents.get(annotation) if annotation is not None else None
        if isinstance(owner, cst.AnnAssign):
            return self.into(owner.target)
        return self._in_Param(node, owner) if isinstance(owner, cst.Param) else Use.UNKNOWN

    def _in_ListComp(self, node: cst.CSTNode, parent: cst.BaseComp) -> Use:
        """The elements of a comprehension are used as those of a list."""
        return self.use_of(parent)

    _in_SetComp = _in_GeneratorExp = _in_ListComp

    def _in_DictComp(self, node: cst.CSTNode, parent: cst.DictComp) -> Use:
        return self.tables.keys_of(parent) if node is parent.key else self.tables.values_of(parent)

    def _in_NamedExpr(self, node: cst.CSTNode, parent: cst.NamedExpr) -> Use:
        return max(self.into(parent.target), self.use_of(parent))

    def _in_Assign(self, node: cst.CSTNode, parent: cst.Assign) -> Use:
        target = parent.targets[0].target
        if isinstance(target, (cst.Tuple, cst.List)) and takes_text_apart(node) and target.elements:
            return self.into(target.elements[0].value)
        return max(self._chosen_by_cuda(node), *(self.into(target.target) for target in parent.targets))

    def _in_AnnAssign(self, node: cst.CSTNode, parent: cst.AnnAssign | cst.AugAssign) -> Use:
        return self.into(parent.target)

    _in_AugAssign = _in_AnnAssign

    def _in_Param(self, node: cst.CSTNode, parent: cst.Param) -> Use:
        for owner in self.names.ancestors(parent):
            if isinstance(owner, (cst.FunctionDef, cst.Lambda)):
                return self.of_cell(self.cells.of_parameter(owner, parent))
        return Use.UNKNOWN

    def _in_Lambda(self, node: cst.CSTNode, parent: cst.Lambda) -> Use:
        """What a lambda returns matters where it is called for its value, as a default_factory is."""
        return self.use_of(parent)

    def _in_Return(self, node: cst.CSTNode, parent: cst.CSTNode) -> Use:
        function = self.names.enclosing(parent, cst.FunctionDef)
        if function is None:
            return Use.UNKNOWN
        return max(self.of_cell(Cell("result", function.name.value)), self._chosen_by_cuda(node))

    _in_Yield = _in_Return

    def _in_For(self, node: cst.CSTNode, parent: cst.For | cst.CompFor) -> Use:
        return self.into(parent.target) if node is parent.iter else Use.UNKNOWN

    _in_CompFor = _in_For

    def _in_Comparison(self, node: cst.CSTNode, parent: cst.Comparison) -> Use:
        return max(self.source(target.comparator) for target in parent.comparisons)

    def _in_ComparisonTarget(self, node: cst.CSTNode, parent: cst.ComparisonTarget) -> Use:
        comparison = self.names.parents[parent]
        if isinstance(node, cst.Dict) or not isinstance(comparison, cst.Comparison):
            return Use.UNKNOWN
        return self.source(comparison.left)

    def _in_MatchValue(self, node: cst.CSTNode, parent: cst.MatchValue) -> Use:
        match = self.names.enclosing(parent, cst.Match)
        return self.source(match.subject) if match is not None else Use.UNKNOWN

    def _in_DictElement(self, node: cst.CSTNode, parent: cst.DictElement) -> Use:
        table = self.names.parents[parent]
        if node is parent.key:
            return self.tables.keys_of(table)
        key = string_value(parent.key)
        named = self.of_cell(Cell("member", key)) if key else Use.UNKNOWN
        return max(named, self.tables.values_of(table))

    def _in_Arg(self, node: cst.CSTNode, parent: cst.Arg) -> Use:
        call = self.names.parents[parent]
        return self.calls.use_of(parent, call) if isinstance(call, cst.Call) else Use.UNKNOWN

    # Cells

    def says(self, identifier: str) -> bool:
        """Whether a member or a keyword is called like something that holds such a value."""
        return self.topic.names(identifier) or identifier in self.shared

    def _is_named(self, cell: Cell) -> bool:
        if cell.kind == "variable" and not self.cells.is_global(cell):
            return self.topic.names(cell.name)
        if cell.kind == "result" and f"{cell.name}()" in self.shared:
            return True
        return self.says(cell.name)

    def of_cell(self, cell: Cell) -> Use:
        """Return what the values of ``cell`` are used as, by its name and by all its uses.

        One search visits every cell once. What it learns about cells on the way may be incomplete, so
        only certain answers are remembered: for the cell that was asked for, for those that are proven,
        and, if nothing at all was found, for all of them.
        """
        if cell in self._known:
            return self._known[cell]
        if cell in self._visited or len(self._visited) > _MAX_CELLS:
            return Use.UNKNOWN
        outermost = not self._visited
        self._visited.add(cell)
        use = Use.NAMED if self._is_named(cell) else Use.UNKNOWN
        for found in self._evidence(cell):
            if found is not Use.GUESS:  # a guess about a variable would be a guess too many
                use = max(use, found)
            if use is Use.PROVEN:
                break
        if use is Use.PROVEN:
            self._known[cell] = use
        if outermost:
            settled = self._visited if use is Use.UNKNOWN else {cell}
            self._known.update(dict.fromkeys(settled, use))
            self._visited.clear()
        return use

    def _evidence(self, cell: Cell) -> Iterator[Use]:
        for value in self.cells.values(cell):
            if string_value(value) is None:
                yield self.source(value)
        for read in self.cells.reads(cell):
            yield self.use_of(read)

    def is_in_sight(self, node: cst.CSTNode) -> bool:
        """Whether it can be seen what ``node`` is given, or its name says so.

        What is not in sight is converted elsewhere, or isn't: an imported variable, a parameter that
        nothing is passed for here, a member that is set in another file.
        """
        cell = self.cells.of(node) if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) else None
        if cell is None or self._is_named(cell) or cell.name in ("type", *self.topic.attributes):
            return True
        values = list(self.cells.values(cell))
        if values:
            return any(map(self._tells_value, values))
        if cell.kind == "variable" and isinstance(node, cst.Name):
            return all(binding.kind not in ("import", "star", "param") for binding in self.names.lookup(node))
        return False

    def _tells_value(self, value: cst.CSTNode) -> bool:
        """Whether what is assigned can be seen: no annotation, and no result of another file's function."""
        if isinstance(value, cst.Call):
            targets = self.names.qualified(value.func)
            known = any(f"{target.rpartition('.')[2]}()" in self.shared for target in targets)
            return known or not any(map(self.is_of_project, targets))
        return not isinstance(value, cst.Annotation)

    # Backwards: what a value is

    def source(self, node: cst.CSTNode) -> Use:
        """Return whether the value of ``node`` is of this topic."""
        find = getattr(self, f"_from_{type(node).__name__}", None)
        return find(node) if find is not None else Use.UNKNOWN

    def _from_Annotation(self, node: cst.Annotation) -> Use:
        return Use.PROVEN if self.names.qualified(node.annotation) & self.topic.results else Use.UNKNOWN

    def _from_Name(self, node: cst.Name) -> Use:
        return self.into(node)

    def _from_Attribute(self, node: cst.Attribute) -> Use:
        return self.source_of_attribute(node.value, node.attr.value)

    def source_of_attribute(self, owner: cst.BaseExpression, name: str) -> Use:
        """Return whether the attribute ``name`` of ``owner`` is of this topic."""
        if name in self.topic.attributes:
            return Use.OTHER if self.kinds.of(owner).kind is Kind.FOREIGN else Use.PROVEN
        return self.source(owner) if name == "type" else self.of_cell(Cell("member", name))

    def _from_Call(self, node: cst.Call) -> Use:
        return self.calls.source(node)

    def _from_Subscript(self, node: cst.Subscript) -> Use:
        cell = self.cells.of(node)
        return self.of_cell(cell) if cell is not None and cell.kind == "member" else self.source(node.value)

    def _from_IfExp(self, node: cst.IfExp) -> Use:
        return max(self.source(node.body), self.source(node.orelse))

    def _from_BooleanOperation(self, node: cst.BooleanOperation | cst.BinaryOperation) -> Use:
        return self.source(node.left)

    _from_BinaryOperation = _from_BooleanOperation

    def _from_NamedExpr(self, node: cst.NamedExpr) -> Use:
        return max(self.source(node.value), self.source(node.target))

    def _from_FormattedString(self, node: cst.FormattedString) -> Use:
        first = node.parts[0] if node.parts else None
        return (
            self.source(first.expression) if isinstance(first, cst.FormattedStringExpression) else Use.UNKNOWN
        )

    # Choices that ask for CUDA

    def asks_for_cuda(self, test: cst.CSTNode, depth: int = 0) -> bool:
        """Whether a condition asks whether CUDA is there."""
        if isinstance(test, cst.BooleanOperation):
            return self.asks_for_cuda(test.left, depth) or self.asks_for_cuda(test.right, depth)
        if isinstance(test, cst.UnaryOperation):
            return self.asks_for_cuda(test.expression, depth)
        if isinstance(test, cst.Call):
            return bool(self.names.qualified(test.func) & _ASKS_FOR_CUDA)
        if isinstance(test, cst.Comparison):
            return self.asks_for_cuda(test.left, depth)
        if isinstance(test, cst.Name) and depth < 5:
            made = (binding.value for binding in self.names.lookup(test))
            return any(value is not None and self.asks_for_cuda(value, depth + 1) for value in made)
        return False

    def _chosen_by_cuda(self, node: cst.CSTNode) -> Use:
        """A literal that is assigned, or returned, in a branch for the case that CUDA is there."""
        if not isinstance(node, _LITERALS):
            return Use.UNKNOWN
        branch = self.names.enclosing(node, cst.If, cst.FunctionDef)
        if isinstance(branch, cst.If) and self.asks_for_cuda(branch.test):
            return Use.PROVEN
        return Use.UNKNOWN
