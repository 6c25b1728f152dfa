"""Members called ``cuda`` or ``is_cuda`` of the classes that a file defines."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.tree import dotted, parameters

COUNTERPART = {"cuda": "npu", "is_cuda": "is_npu"}
_PROPERTY = {"property", "cached_property", "functools.cached_property", "abc.abstractproperty"}


@dataclass(frozen=True)
class Member:
    """A member of a program's own class that is called like one of torch's.

    :param kind: ``method``, ``property`` or ``data``.
    :param paired: whether the class has a member with the NPU's name already.
    """

    owner: str
    name: str
    kind: str
    paired: bool = False

    @property
    def moves(self) -> bool:
        """Whether the definition is renamed, together with every use."""
        movable = "method" if self.name == "cuda" else "property"
        return self.kind == movable and not self.paired


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
        last = bindings[-1].node
        kinds[name] = _kind_of_function(last) if isinstance(last, cst.FunctionDef) else "data"
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
