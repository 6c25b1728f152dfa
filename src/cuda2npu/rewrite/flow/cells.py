"""What holds values in a file, where it gets them, and where it is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.scopes import Binding, find_scope
from cuda2npu.rewrite.tree import argument, dotted, parameters, string_value

LOOKUPS = {"get", "setdefault", "pop", "getenv"}


@dataclass(frozen=True)
class Cell:
    """Something that holds values.

    :param kind: ``variable`` is a name in a scope; ``member`` an attribute, key, option or field, by
        its name alone; ``result`` is what the functions of that name return.
    """

    kind: str
    name: str
    scope: int = 0


class Cells:
    """The cells of one file."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._scopes = {id(scope): scope for scope in names.scopes.values()}
        self._keys: dict[str, list[cst.BaseExpression]] | None = None
        self.functions: dict[str, list[cst.FunctionDef]] = defaultdict(list)
        for function in names.nodes(cst.FunctionDef):
            self.functions[function.name.value].append(function)

    def of(self, target: cst.CSTNode) -> Cell | None:
        """Return the cell that an assignment target, or an expression that is read, stands for."""
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
            return Cell("member", key) if key else self.of(target.value)
        return None

    def of_parameter(self, function: cst.FunctionDef | cst.Lambda, param: cst.Param) -> Cell:
        """Return the cell of a parameter."""
        return Cell("variable", param.name.value, id(self.names.scopes[function]))

    def is_global(self, cell: Cell) -> bool:
        """Whether ``cell`` is a variable of the module."""
        return cell.kind == "variable" and self._scopes[cell.scope].kind == "module"

    # Where a cell is read

    def reads(self, cell: Cell) -> list[cst.BaseExpression]:
        """Return the expressions that read ``cell``."""
        uses = self.names.named(cell.name)
        if cell.kind == "variable":
            scope = self._scopes[cell.scope]
            return [n for n in uses if find_scope(self.names.uses[n].scope, cell.name) is scope]
        attributes = self.names.attributes.get(cell.name, [])
        if cell.kind == "member":
            return [*attributes, *self._key_reads(cell.name), *self._class_reads(uses)]
        return self.calls_of(cell.name)

    def calls_of(self, function: str) -> list[cst.BaseExpression]:
        """Return the calls of what is called ``function``, as a function or as a method."""
        nodes: list[cst.CSTNode] = [*self.names.named(function), *self.names.attributes.get(function, [])]
        found = []
        for node in nodes:
            call = self.names.parents[node]
            if isinstance(call, cst.Call) and call.func is node:
                found.append(call)
        return list[cst.BaseExpression](found)

    def _class_reads(self, uses: list[cst.Name]) -> Iterator[cst.Name]:
        """Uses of a class variable inside the class body."""
        for node in uses:
            home = find_scope(self.names.uses[node].scope, node.value)
            if home is not None and home.kind == "class":
                yield node

    def _key_reads(self, name: str) -> list[cst.BaseExpression]:
        """``x["name"]`` and ``x.get("name")``."""
        if self._keys is None:
            self._keys = defaultdict(list)
            for subscript in self.names.nodes(cst.Subscript):
                cell = self.of(subscript)
                if cell is not None and cell.kind == "member":
                    self._keys[cell.name].append(subscript)
            for lookup in LOOKUPS:
                for call in self.calls_of(lookup):
                    assert isinstance(call, cst.Call)
                    key = string_value(call.args[0].value) if call.args else None
                    if key:
                        self._keys[key].append(call)
        return self._keys.get(name, [])

    # Where a cell gets its values

    def values(self, cell: Cell) -> Iterator[cst.CSTNode]:
        """Yield what is assigned to ``cell``, passed for it in this file, and its annotation."""
        if cell.kind == "variable":
            for binding in self._scopes[cell.scope].bindings.get(cell.name, ()):
                if binding.value is not None:
                    yield binding.value
                if isinstance(binding.node, cst.Param):
                    yield from self._passed(binding, binding.node)
        elif cell.kind == "member":
            for attribute in self.names.attributes.get(cell.name, []):
                target = self.names.parents[attribute]
                assign = self.names.parents.get(target)
                if isinstance(target, cst.AssignTarget) and isinstance(assign, cst.Assign):
                    yield assign.value

    def _passed(self, binding: Binding, param: cst.Param) -> Iterator[cst.CSTNode]:
        """What is known of a parameter from outside: its annotation, and what callers pass."""
        if param.annotation is not None:
            yield param.annotation
        function = binding.scope.node
        if not isinstance(function, cst.FunctionDef):
            return
        names = [p.name.value for p in parameters(function.params)]
        position = names.index(param.name.value)
        position -= bool(names) and names[0] in ("self", "cls")
        for call in self.calls_of(function.name.value):
            arg = argument(call, position, param.name.value) if isinstance(call, cst.Call) else None
            if arg is not None:
                yield arg.value


def option_name(call: cst.Call) -> str | None:
    """Return the name under which argparse or click hands on the option that ``call`` adds."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "dest":
            return string_value(arg.value)
    flags = [string_value(arg.value) or "" for arg in call.args if arg.keyword is None and not arg.star]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long and long[0] else None


def is_method_call(call: cst.Call, names: set[str] | frozenset[str]) -> bool:
    """Whether ``call`` calls a method with one of these names."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in names


def last_name(node: cst.CSTNode) -> str:
    """Return the last part of a dotted name, or of an attribute of any expression."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return (dotted(node) or "").rpartition(".")[2]
