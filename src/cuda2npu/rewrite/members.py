"""Members called ``cuda`` or ``is_cuda`` of the classes that a file defines."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.scopes import Binding
from cuda2npu.rewrite.tree import dotted, parameters

COUNTERPART = {"cuda": "npu", "is_cuda": "is_npu"}
_PROPERTY = {"property", "cached_property", "functools.cached_property", "abc.abstractproperty"}
# Built-ins that make a member of the function that they are given.
_MADE_BY = {
    "staticmethod": "method",
    "classmethod": "method",
    "partialmethod": "method",
    "functools.partialmethod": "method",
    "property": "property",
    "cached_property": "property",
    "functools.cached_property": "property",
}


@dataclass(frozen=True)
class Member:
    """A member of a program's own class that is called like one of torch's.

    :param kind: ``method``, ``property`` or ``data``.
    :param paired: whether the class has a member with the NPU's name already.
    :param fixed: whether it stands in a file that isn't converted.
    """

    owner: str
    name: str
    kind: str
    paired: bool = False
    fixed: bool = False

    @property
    def moves(self) -> bool:
        """Whether the definition is renamed, together with every use."""
        movable = "method" if self.name == "cuda" else "property"
        return self.kind == movable and not self.paired and not self.fixed


def class_members(names: Names) -> list[Member]:
    """Return the watched members of every class in the file."""
    found: list[Member] = []
    for node in names.nodes(cst.ClassDef):
        kinds = _kinds(node, names)
        found += [
            Member(node.name.value, name, kinds[name], counterpart in kinds)
            for name, counterpart in COUNTERPART.items()
            if name in kinds
        ]
    return found


def _kinds(node: cst.ClassDef, names: Names) -> dict[str, str]:
    """Return member name -> kind, for what the class body and ``self.x = …`` define."""
    kinds: dict[str, str] = {}
    for name, bindings in names.scopes[node].bindings.items():
        last = bindings[-1]
        kinds[name] = (
            _kind_of_function(last.node)
            if isinstance(last.node, cst.FunctionDef)
            else _kind_of_value(last, names)
        )
        if kinds[name] == "property" and len(bindings) > 1:  # with a setter it is as good as data
            kinds[name] = "data"
    for name in COUNTERPART:
        if any(assigns_data(attribute, names) for attribute in _own_attributes(node, name, names)):
            kinds[name] = "data"
    return kinds


def _kind_of_function(node: cst.FunctionDef) -> str:
    for decorator in node.decorators:
        name = dotted(decorator.decorator) or ""
        if name in _PROPERTY or name.endswith((".setter", ".getter", ".deleter")):
            return "property"
    return "method"


def _kind_of_value(binding: Binding, names: Names) -> str:
    """Return what ``cuda = …`` in a class body makes: a method, if the value is a function."""
    value = binding.value
    if isinstance(value, cst.Lambda):
        return "method"
    if isinstance(value, cst.Call):
        return _MADE_BY.get(dotted(value.func) or "", "data")
    if isinstance(value, cst.Name):
        made = (other.node for other in names.lookup(value) if other is not binding)
        return next((_kind_of_function(node) for node in made if isinstance(node, cst.FunctionDef)), "data")
    return "data"


def _own_attributes(node: cst.ClassDef, name: str, names: Names) -> list[cst.Attribute]:
    """Return the ``self.<name>`` of the methods of ``node``."""
    found = []
    for attribute in names.attributes[name]:
        function = names.enclosing(attribute, cst.FunctionDef)
        if function is None or names.enclosing(function, cst.ClassDef) is not node:
            continue
        first = next(parameters(function.params), None)
        receiver = attribute.value
        if first is not None and isinstance(receiver, cst.Name) and receiver.value == first.name.value:
            found.append(attribute)
    return found


def assigns_data(attribute: cst.Attribute, names: Names) -> bool:
    """Whether ``x.cuda`` is the target of an assignment that doesn't wrap the method it replaces."""
    target = names.parents[attribute]
    if isinstance(target, cst.AnnAssign) and target.target is attribute:
        return True
    if not isinstance(target, cst.AssignTarget):
        return False
    assign = names.parents[target]
    return isinstance(assign, cst.Assign) and not wraps_method(assign.value, attribute)


def wraps_method(value: cst.CSTNode, attribute: cst.Attribute) -> bool:
    """Whether ``value`` is a call that is handed the very attribute that it is assigned to."""
    return isinstance(value, cst.Call) and any(arg.value.deep_equals(attribute) for arg in value.args)
