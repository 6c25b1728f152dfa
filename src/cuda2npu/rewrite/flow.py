"""Where a string goes: whether it ends up as a device, as a backend, or somewhere else.

A literal is followed through the file on demand: to the variable, parameter, attribute, option or key
that it is given to, on to every place where that is read, and so on until a call or a comparison says
what it is. Nothing is computed for names that no CUDA word can reach.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import libcst as cst

from cuda2npu.rewrite.kinds import Kind, Kinds
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.scopes import find_scope
from cuda2npu.rewrite.topics import Topic
from cuda2npu.rewrite.tree import dotted, parameters, string_value

_SAME_TEXT = {"format", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "casefold", "removeprefix"}
_ASKS = {
    "startswith", "endswith", "find", "index", "count", "split", "rsplit", "partition", "rpartition",
    "removesuffix", "__contains__",
}  # fmt: skip
_LOOKUPS = {"get", "setdefault", "pop", "getenv"}
_LITERALS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
_MAX_CELLS = 300  # where a search stops: so far from the literal nothing is evidence any more
_TRANSPARENT = {"str", "list", "tuple", "set", "sorted", "iter", "next", "reversed", "cast"}


class Use(IntEnum):
    """What is known about the use of a value; the stronger one wins."""

    UNKNOWN = 0
    GUESS = 1  # handed by position to a function that isn't in sight
    NAMED = 2  # what holds it is called device (or backend)
    OTHER = 3  # it belongs to a library with devices of its own
    PROVEN = 4  # it reaches a parameter, or is compared with a value, that is a device (or backend)


@dataclass(frozen=True)
class Cell:
    """Something that holds values.

    ``variable`` is a name in a scope; ``member`` an attribute, key, option or field, by its name
    alone; ``result`` what the functions of that name return.
    """

    kind: str
    name: str
    scope: int = 0


class Flow:
    """Follows values of one topic through one file."""

    def __init__(self, names: Names, kinds: Kinds, topic: Topic) -> None:
        self.names = names
        self.kinds = kinds
        self.topic = topic
        self._cells: dict[Cell, Use] = {}
        self._visited: set[Cell] = set()
        self._tables: set[cst.CSTNode] = set()
        self._scopes = {id(scope): scope for scope in names.scopes.values()}
        self._keys: dict[str, list[cst.BaseExpression]] | None = None
        self._functions: dict[str, list[cst.FunctionDef]] = defaultdict(list)
        for function in names.nodes(cst.FunctionDef):
            self._functions[function.name.value].append(function)

    # Forwards: what becomes of a value

    def use_of(self, node: cst.CSTNode) -> Use:
        """Return what the value of ``node`` is used as."""
        parent = self.names.parents.get(node)
        if parent is None:
            return Use.UNKNOWN
        find = getattr(self, f"_in_{type(parent).__name__}", None)
        return find(node, parent) if find is not None else Use.UNKNOWN

    def _in_ConcatenatedString(self, node: cst.CSTNode, parent: cst.ConcatenatedString) -> Use:
        return self.use_of(parent)

    _in_BooleanOperation = _in_Await = _in_UnaryOperation = _in_ConcatenatedString

    def _in_Element(self, node: cst.CSTNode, parent: cst.Element) -> Use:
        return self.use_of(self.names.parents[parent])

    def _in_IfExp(self, node: cst.CSTNode, parent: cst.IfExp) -> Use:
        if node is parent.test:
            return Use.UNKNOWN
        if isinstance(node, _LITERALS) and self.asks_for_cuda(parent.test):
            return Use.PROVEN
        return self.use_of(parent)

    def _in_BinaryOperation(self, node: cst.CSTNode, parent: cst.BinaryOperation) -> Use:
        same = isinstance(parent.operator, (cst.Add, cst.Modulo)) and node is parent.left
        return self.use_of(parent) if same else Use.UNKNOWN

    def _in_FormattedStringExpression(self, node: cst.CSTNode, parent: cst.FormattedStringExpression) -> Use:
        string = self.names.parents[parent]
        first = isinstance(string, cst.FormattedString) and string.parts[0] is parent
        return self.use_of(string) if first else Use.UNKNOWN

    def _in_Attribute(self, node: cst.CSTNode, parent: cst.Attribute) -> Use:
        call = self.names.parents[parent]
        if parent.attr.value in _SAME_TEXT and isinstance(call, cst.Call) and call.func is parent:
            return self.use_of(call)
        return Use.UNKNOWN

    def _in_Subscript(self, node: cst.CSTNode, parent: cst.Subscript) -> Use:
        return self.use_of(parent) if node is parent.value else Use.UNKNOWN

    def _in_Index(self, node: cst.CSTNode, parent: cst.Index) -> Use:
        """A literal as a key: it means what the other keys of the same table mean."""
        subscript = self.names.enclosing(parent, cst.Subscript)
        return self._keys_of(subscript.value) if subscript is not None else Use.UNKNOWN

    def _in_NamedExpr(self, node: cst.CSTNode, parent: cst.NamedExpr) -> Use:
        return max(self._into(parent.target), self.use_of(parent))

    def _in_Assign(self, node: cst.CSTNode, parent: cst.Assign) -> Use:
        return max(self._chosen_by_cuda(node), *(self._into(target.target) for target in parent.targets))

    def _in_AnnAssign(self, node: cst.CSTNode, parent: cst.AnnAssign) -> Use:
        return self._into(parent.target)

    _in_AugAssign = _in_AnnAssign

    def _in_Param(self, node: cst.CSTNode, parent: cst.Param) -> Use:
        for owner in self.names.ancestors(parent):
            if isinstance(owner, (cst.FunctionDef, cst.Lambda)):
                return self._of_parameter(owner, parent)
        return Use.UNKNOWN

    def _in_Return(self, node: cst.CSTNode, parent: cst.CSTNode) -> Use:
        function = self.names.enclosing(parent, cst.FunctionDef)
        if function is None:
            return Use.UNKNOWN
        return max(self.of_cell(Cell("result", function.name.value)), self._chosen_by_cuda(node))

    _in_Yield = _in_Return

    def _in_For(self, node: cst.CSTNode, parent: cst.For | cst.CompFor) -> Use:
        return self._into(parent.target) if node is parent.iter else Use.UNKNOWN

    _in_CompFor = _in_For

    def _in_Comparison(self, node: cst.CSTNode, parent: cst.Comparison) -> Use:
        return max(self.source(target.comparator) for target in parent.comparisons)

    def _in_ComparisonTarget(self, node: cst.CSTNode, parent: cst.ComparisonTarget) -> Use:
        comparison = self.names.parents[parent]
        assert isinstance(comparison, cst.Comparison)
        if isinstance(parent.operator, (cst.In, cst.NotIn)) and isinstance(node, cst.Dict):
            return Use.UNKNOWN
        return self.source(comparison.left)

    def _in_MatchValue(self, node: cst.CSTNode, parent: cst.MatchValue) -> Use:
        match = self.names.enclosing(parent, cst.Match)
        return self.source(match.subject) if match is not None else Use.UNKNOWN

    def _in_DictElement(self, node: cst.CSTNode, parent: cst.DictElement) -> Use:
        table = self.names.parents[parent]
        if node is parent.key:
            return self._keys_of(table)
        key = string_value(parent.key)
        named = self.of_cell(Cell("member", key)) if key else Use.UNKNOWN
        return max(named, self._values_of(table))

    def _in_Arg(self, node: cst.CSTNode, parent: cst.Arg) -> Use:
        call = self.names.parents[parent]
        if not isinstance(call, cst.Call):
            return Use.UNKNOWN  # a base class
        return self._of_argument(parent, call)

    def _into(self, target: cst.CSTNode) -> Use:
        cell = self._cell_of(target)
        return self.of_cell(cell) if cell is not None else Use.UNKNOWN

    # Calls

    def _of_argument(self, arg: cst.Arg, call: cst.Call) -> Use:
        if arg.star:
            return Use.UNKNOWN
        keyword = arg.keyword.value if arg.keyword is not None else None
        position = None if keyword is not None else call.args.index(arg)
        targets = self.names.qualified(call.func)
        if targets:
            return max(self._given_to_function(t, arg, call, position, keyword) for t in targets)
        if isinstance(call.func, cst.Name):
            return self._given_to_name(call.func, arg, call, position, keyword)
        if isinstance(call.func, cst.Attribute):
            return self._given_to_method(call.func, arg, call, position, keyword)
        return self._named(keyword)

    def _named(self, keyword: str | None) -> Use:
        return Use.NAMED if keyword is not None and self.topic.names(keyword) else Use.UNKNOWN

    def _given_to_function(
        self, target: str, arg: cst.Arg, call: cst.Call, position: int | None, keyword: str | None
    ) -> Use:
        """A function that was imported."""
        name = target.rpartition(".")[2]
        expected = self.topic.position(target)
        if expected is not None and (position == expected or self._named(keyword)):
            return Use.PROVEN
        if target.startswith("torch."):
            return Use.PROVEN if self._named(keyword) else Use.UNKNOWN
        if target.startswith("os.") and name in _LOOKUPS:
            return self._looked_up(arg, call, position, keyword)
        if target == "functools.partial" and keyword is not None:
            return self._named(keyword)
        if name in _TRANSPARENT:
            return self.use_of(call)
        if target.partition(".")[0] in self.kinds.foreign:
            return Use.OTHER
        if self.kinds.is_foreign(target):
            return self.of_cell(Cell("member", keyword)) if keyword is not None else Use.UNKNOWN
        return self._named(keyword) if keyword is not None else Use.GUESS

    def _given_to_name(
        self, func: cst.Name, arg: cst.Arg, call: cst.Call, position: int | None, keyword: str | None
    ) -> Use:
        """A function or class of this file, or one of Python's own."""
        for binding in self.names.lookup(func):
            function = binding.node
            if isinstance(function, cst.ClassDef):
                initialiser = self._method(function, "__init__")
                if initialiser is None:
                    return self._given_to_field(function, position, keyword)
                return self._given_to_parameter(initialiser, position, keyword, bound=True)
            if isinstance(function, cst.FunctionDef):
                return self._given_to_parameter(function, position, keyword, bound=False)
            return self._named(keyword) if keyword is not None else Use.UNKNOWN
        if func.value == "getattr" and position == 2:
            return self._looked_up(arg, call, 1, None, key=1)
        if func.value == "dict" and keyword is not None:
            return max(self.of_cell(Cell("member", keyword)), self._values_of(call))
        if func.value in _TRANSPARENT:
            return self.use_of(call)
        if keyword is None and not hasattr(builtins, func.value):
            return Use.GUESS  # from a star import
        return self._named(keyword)

    def _given_to_method(
        self, func: cst.Attribute, arg: cst.Arg, call: cst.Call, position: int | None, keyword: str | None
    ) -> Use:
        name = func.attr.value
        if name in _ASKS or (name in _SAME_TEXT and name != "format"):
            return self.source(func.value)
        if name == "add_argument":
            return self._option(call) if keyword in ("default", "const", "choices", "nargs") else Use.UNKNOWN
        if name in _LOOKUPS and (position == 1 or keyword == "default"):
            return self._looked_up(arg, call, position, keyword)
        if name in ("append", "add", "insert", "extend"):
            return self._into(func.value)
        if name == "parametrize" and position == 1:
            return self._parametrized(call)
        if self.kinds.of(func.value).kind is Kind.FOREIGN:
            return Use.OTHER
        if self.topic.methods.get(name) == position and position is not None:
            return Use.PROVEN
        if name in self._functions and not isinstance(func.value, cst.Call):
            uses = [
                self._given_to_parameter(function, position, keyword, bound=True)
                for function in self._functions[name]
            ]
            return max(*uses, self._named(keyword))
        return self._named(keyword)

    def _given_to_parameter(
        self, function: cst.FunctionDef, position: int | None, keyword: str | None, bound: bool
    ) -> Use:
        params = list(parameters(function.params))
        if position is not None:
            position += bound and not any(dotted(d.decorator) == "staticmethod" for d in function.decorators)
            if position < len(params):
                return self._of_parameter(function, params[position])
            return Use.UNKNOWN
        for param in params:
            if param.name.value == keyword:
                return self._of_parameter(function, param)
        return self._named(keyword)

    def _given_to_field(self, node: cst.ClassDef, position: int | None, keyword: str | None) -> Use:
        """A field of a dataclass or of a named tuple."""
        fields = [
            b[0].name
            for b in self.names.scopes[node].bindings.values()
            if not isinstance(b[0].node, cst.FunctionDef)
        ]
        if keyword is None and position is not None and position < len(fields):
            keyword = fields[position]
        return self.of_cell(Cell("member", keyword)) if keyword is not None else Use.UNKNOWN

    def _looked_up(
        self, arg: cst.Arg, call: cst.Call, position: int | None, keyword: str | None, key: int = 0
    ) -> Use:
        """The default of a look-up: it goes where the result goes; the key may tell, too."""
        if position == 0 and key == 0:
            return Use.UNKNOWN
        name = string_value(call.args[key].value) if len(call.args) > key else None
        return max(self.of_cell(Cell("member", name)) if name else Use.UNKNOWN, self.use_of(call))

    def _option(self, call: cst.Call) -> Use:
        """The default or a choice of a command-line option."""
        name = option_name(call)
        return self.of_cell(Cell("member", name)) if name else Use.UNKNOWN

    def _parametrized(self, call: cst.Call) -> Use:
        """A value for a parameter of a test function."""
        name = string_value(call.args[0].value)
        function = self.names.enclosing(call, cst.FunctionDef)
        if name is None or function is None:
            return Use.UNKNOWN
        return self._given_to_parameter(function, None, name, bound=False)

    def _of_parameter(self, function: cst.FunctionDef | cst.Lambda, param: cst.Param) -> Use:
        return self.of_cell(Cell("variable", param.name.value, id(self.names.scopes[function])))

    def _method(self, node: cst.ClassDef, name: str) -> cst.FunctionDef | None:
        bindings = self.names.scopes[node].bindings.get(name, ())
        return next((b.node for b in bindings if isinstance(b.node, cst.FunctionDef)), None)

    # Tables

    def _values_of(self, table: cst.CSTNode) -> Use:
        """What the values of a dict are used as."""
        parent = self.names.parents[table]
        if isinstance(parent, cst.Subscript) and parent.value is table:
            return self.use_of(parent)
        return self.use_of(table)

    def _keys_of(self, table: cst.CSTNode) -> Use:
        """What the keys of a dict are: what it is looked up with."""
        if table in self._tables:
            return Use.UNKNOWN
        self._tables.add(table)
        try:
            return max((self.source(key) for key in self._looked_up_with(table)), default=Use.UNKNOWN)
        finally:
            self._tables.discard(table)

    def _looked_up_with(self, table: cst.CSTNode) -> Iterator[cst.CSTNode]:
        places: list[cst.CSTNode] = [table]
        parent = self.names.parents[table]
        cell = None
        if isinstance(parent, cst.Assign):
            cell = self._cell_of(parent.targets[0].target)
        elif isinstance(table, (cst.Name, cst.Attribute)):
            cell = self._cell_of(table)
        if cell is not None:
            places += self._reads(cell)
        for place in places:
            user = self.names.parents[place]
            if isinstance(user, cst.Subscript) and user.value is place:
                for element in user.slice:
                    if isinstance(element.slice, cst.Index):
                        yield element.slice.value
            elif isinstance(user, cst.Attribute) and user.attr.value in _LOOKUPS:
                call = self.names.parents[user]
                if isinstance(call, cst.Call) and call.args:
                    yield call.args[0].value
            elif isinstance(user, cst.ComparisonTarget):
                comparison = self.names.parents[user]
                if isinstance(comparison, cst.Comparison):
                    yield comparison.left

    # Cells

    def of_cell(self, cell: Cell) -> Use:
        """Return what the values of ``cell`` are used as, by its name and by all its uses.

        One search visits every cell once. What it learns about cells on the way may be incomplete, so
        only certain answers are remembered: for the cell that was asked for, for those that are proven,
        and, if nothing at all was found, for all of them.
        """
        if cell in self._cells:
            return self._cells[cell]
        if cell in self._visited or len(self._visited) > _MAX_CELLS:
            return Use.UNKNOWN
        outermost = not self._visited
        self._visited.add(cell)
        use = Use.NAMED if self.topic.names(cell.name) else Use.UNKNOWN
        for found in self._evidence(cell):
            if found is not Use.GUESS:  # a guess about a variable would be a guess too many
                use = max(use, found)
            if use is Use.PROVEN:
                break
        if use is Use.PROVEN:
            self._cells[cell] = use
        if outermost:
            known = self._visited if use is Use.UNKNOWN else {cell}
            self._cells.update(dict.fromkeys(known, use))
            self._visited.clear()
        return use

    def _evidence(self, cell: Cell) -> Iterator[Use]:
        for value in self._values(cell):
            if string_value(value) is None:
                yield self.source(value)
        for read in self._reads(cell):
            yield self.use_of(read)

    def _cell_of(self, target: cst.CSTNode) -> Cell | None:
        """Return the cell that an assignment target, or a name that is read, stands for."""
        if isinstance(target, cst.Name):
            use = self.names.uses.get(target)
            scope = use.scope if use is not None else self.names.scope_at(target)
            home = find_scope(scope, target.value) or scope.home(target.value)
            if home.kind == "class":
                return Cell("member", target.value)
            return Cell("variable", target.value, id(home))
        if isinstance(target, cst.Attribute):
            return Cell("member", target.attr.value)
        if isinstance(target, cst.Subscript) and len(target.slice) == 1:
            index = target.slice[0].slice
            key = string_value(index.value) if isinstance(index, cst.Index) else None
            return Cell("member", key) if key else self._cell_of(target.value)
        return None

    def _reads(self, cell: Cell) -> list[cst.BaseExpression]:
        """Return the expressions that read ``cell``."""
        if cell.kind == "variable":
            scope = self._scopes[cell.scope]
            return [
                n
                for n in self.names.named(cell.name)
                if find_scope(self.names.uses[n].scope, cell.name) is scope
            ]
        attributes = self.names.attributes.get(cell.name, [])
        if cell.kind == "member":
            return [*attributes, *self._key_reads(cell.name), *self._class_reads(cell.name)]
        calls = (self.names.parents[n] for n in (*self.names.named(cell.name), *attributes))
        return [call for call in calls if isinstance(call, cst.Call) and dotted(call.func) is not None]

    def _class_reads(self, name: str) -> list[cst.Name]:
        """Uses of a class variable inside the class body."""
        found = []
        for node in self.names.named(name):
            home = find_scope(self.names.uses[node].scope, name)
            if home is not None and home.kind == "class":
                found.append(node)
        return found

    def _key_reads(self, name: str) -> list[cst.BaseExpression]:
        if self._keys is None:
            self._keys = defaultdict(list)
            for subscript in self.names.nodes(cst.Subscript):
                cell = self._cell_of(subscript)
                if cell is not None and cell.kind == "member":
                    self._keys[cell.name].append(subscript)
            for lookup in _LOOKUPS:
                for attribute in self.names.attributes.get(lookup, []):
                    call = self.names.parents[attribute]
                    if isinstance(call, cst.Call) and call.args and call.func is attribute:
                        key = string_value(call.args[0].value)
                        if key:
                            self._keys[key].append(call)
        return self._keys.get(name, [])

    def _values(self, cell: Cell) -> Iterator[cst.CSTNode]:
        """Yield what is assigned to ``cell``."""
        if cell.kind == "variable":
            for binding in self._scopes[cell.scope].bindings.get(cell.name, ()):
                if binding.value is not None:
                    yield binding.value
                if isinstance(binding.node, cst.Param) and binding.node.annotation is not None:
                    yield binding.node.annotation
        elif cell.kind == "member":
            for attribute in self.names.attributes.get(cell.name, []):
                target = self.names.parents[attribute]
                assign = self.names.parents.get(target)
                if isinstance(target, cst.AssignTarget) and isinstance(assign, cst.Assign):
                    yield assign.value

    # Backwards: what a value is

    def source(self, node: cst.CSTNode) -> Use:
        """Return whether the value of ``node`` is of this topic."""
        if isinstance(node, cst.Annotation):
            targets = self.names.qualified(node.annotation)
            return Use.PROVEN if targets & self.topic.results else Use.UNKNOWN
        if isinstance(node, cst.Name):
            cell = self._cell_of(node)
            return self.of_cell(cell) if cell is not None else Use.UNKNOWN
        if isinstance(node, cst.Attribute):
            return self._source_of_attribute(node)
        if isinstance(node, cst.Call):
            return self._source_of_call(node)
        if isinstance(node, cst.Subscript):
            cell = self._cell_of(node)
            if cell is not None and cell.kind == "member":
                return self.of_cell(cell)
            return self.source(node.value)
        if isinstance(node, cst.IfExp):
            return max(self.source(node.body), self.source(node.orelse))
        if isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
            return self.source(node.left)
        if isinstance(node, cst.NamedExpr):
            return max(self.source(node.value), self.source(node.target))
        if isinstance(node, cst.FormattedString) and node.parts:
            first = node.parts[0]
            return (
                self.source(first.expression)
                if isinstance(first, cst.FormattedStringExpression)
                else Use.UNKNOWN
            )
        return Use.UNKNOWN

    def _source_of_attribute(self, node: cst.Attribute) -> Use:
        name = node.attr.value
        if name in self.topic.attributes:
            foreign = self.kinds.of(node.value).kind is Kind.FOREIGN
            return Use.OTHER if foreign else Use.PROVEN
        if name == "type":
            return self.source(node.value)
        return self.of_cell(Cell("member", name))

    def _source_of_call(self, node: cst.Call) -> Use:
        targets = self.names.qualified(node.func)
        if targets & self.topic.results:
            return Use.PROVEN
        if any(target.partition(".")[0] in self.kinds.foreign for target in targets):
            return Use.OTHER
        name = (dotted(node.func) or "").rpartition(".")[2]
        if isinstance(node.func, cst.Attribute):
            name = node.func.attr.value
            if name in _LOOKUPS and node.args and (key := string_value(node.args[0].value)):
                return self.of_cell(Cell("member", key))
            if name in _SAME_TEXT or name in _ASKS:
                return self.source(node.func.value)
        if name in _TRANSPARENT and node.args:
            return self.source(node.args[0].value)
        return self.of_cell(Cell("result", name)) if name else Use.UNKNOWN

    # Choices that ask for CUDA

    def asks_for_cuda(self, test: cst.CSTNode) -> bool:
        """Whether a condition asks whether CUDA is there."""
        if isinstance(test, cst.BooleanOperation):
            return self.asks_for_cuda(test.left) or self.asks_for_cuda(test.right)
        if isinstance(test, cst.UnaryOperation):
            return self.asks_for_cuda(test.expression)
        if isinstance(test, cst.Call):
            return bool(
                self.names.qualified(test.func) & {"torch.cuda.is_available", "torch.cuda.device_count"}
            )
        if isinstance(test, cst.Comparison):
            return self.asks_for_cuda(test.left)
        if isinstance(test, cst.Name):
            return any(
                isinstance(b.value, (cst.Call, cst.BooleanOperation)) and self.asks_for_cuda(b.value)
                for b in self.names.lookup(test)
            )
        return False

    def _chosen_by_cuda(self, node: cst.CSTNode) -> Use:
        """A literal that is assigned, or returned, in a branch for the case that CUDA is there."""
        if not isinstance(node, _LITERALS):
            return Use.UNKNOWN
        branch = self.names.enclosing(node, cst.If, cst.FunctionDef)
        if isinstance(branch, cst.If) and self.asks_for_cuda(branch.test):
            return Use.PROVEN
        return Use.UNKNOWN


def option_name(call: cst.Call) -> str | None:
    """Return the attribute in which argparse stores the option that ``call`` adds."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "dest":
            return string_value(arg.value)
    flags = [string_value(arg.value) or "" for arg in call.args if arg.keyword is None and not arg.star]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long and long[0] else None
