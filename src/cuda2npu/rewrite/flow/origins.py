"""Where a value comes from, by name: the keys, options and variables that it is read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Callable

import libcst as cst

from cuda2npu.rewrite.flow.calls import ASKS
from cuda2npu.rewrite.flow.cells import LOOKUPS, last_name, option_name
from cuda2npu.rewrite.tree import children, string_value

if TYPE_CHECKING:
    from cuda2npu.rewrite.flow.flow import Flow

_MOST = 200  # nodes that one search looks at: what lies further away is no evidence any more
_LISTS = (cst.Tuple, cst.List, cst.Set)


def is_from(flow: Flow, literal: cst.BaseExpression, held: frozenset[str]) -> bool:
    """Whether a literal meets a value that is read under one of the names ``held``.

    It does where the two are compared, where it is a key of what the value looks up, and where it is what
    the name stands for if nothing is given: the default of an option, a look-up or a parameter.
    """
    if not held:
        return False
    if any(name in held for name in _given_to(flow, literal)):
        return True
    return any(name in held for other in compared_with(flow, literal) for name in origins(flow, other))


def origins(flow: Flow, node: cst.CSTNode) -> set[str]:
    """Return the names of the keys, members, options, variables of the environment behind an expression."""
    found: set[str] = set()
    for _ in _reached(node, lambda current: _behind(flow, current, found)):
        pass
    return found


def literals_behind(flow: Flow, node: cst.CSTNode) -> Iterator[cst.SimpleString]:
    """Yield the literals that go into the value of an expression, as far as this file shows."""

    def following(current: cst.CSTNode) -> Iterator[cst.CSTNode]:
        cell = flow.cells.of(current) if isinstance(current, (cst.Name, cst.Attribute)) else None
        yield from flow.cells.values(cell) if cell is not None else ()
        yield from children(current)

    return (each for each in _reached(node, following) if isinstance(each, cst.SimpleString))


def _reached(
    node: cst.CSTNode, following: Callable[[cst.CSTNode], Iterable[cst.CSTNode]]
) -> Iterator[cst.CSTNode]:
    """Yield a node, what follows from it, what follows from that, and so on."""
    seen: set[cst.CSTNode] = set()
    waiting = [node]
    while waiting and len(seen) < _MOST:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        yield current
        waiting += following(current)


def _behind(flow: Flow, node: cst.CSTNode, found: set[str]) -> Iterable[cst.CSTNode]:
    """Add the names that a value is read under to ``found``, and return the nodes that it is made of."""
    if isinstance(node, cst.Name):
        return _values(flow, node, found)
    if isinstance(node, cst.Attribute):
        if node.attr.value != "type":
            found.add(node.attr.value)
            return ()
        # Of a device, made of a text here or a tensor's own.
        return () if isinstance(node.value, cst.Attribute) else (node.value,)
    if isinstance(node, cst.Subscript):
        cell = flow.cells.of(node)
        found.update([cell.name] if cell is not None and cell.kind == "member" else ())
        return (node.value,)
    if isinstance(node, cst.Call):
        return _behind_call(node, found)
    return () if isinstance(node, cst.Annotation) else children(node)


def _behind_call(node: cst.Call, found: set[str]) -> Iterator[cst.CSTNode]:
    function = last_name(node.func)
    position = 1 if function == "getattr" else 0
    if function in (*LOOKUPS, "getattr") and len(node.args) > position:
        found.update(filter(None, [string_value(node.args[position].value)]))
    if isinstance(node.func, cst.Attribute):
        yield node.func.value
    yield from (arg.value for arg in node.args)


def _values(flow: Flow, name: cst.Name, found: set[str]) -> list[cst.CSTNode]:
    """Return what a variable is given here; what is given elsewhere is known by its own name."""
    cell = flow.cells.of(name)
    bindings = flow.names.lookup(name)
    if any(binding.kind in ("import", "star", "param") for binding in bindings):
        found.add(name.value)
    return list(flow.cells.values(cell)) if cell is not None and cell.kind == "variable" else []


def _given_to(flow: Flow, literal: cst.BaseExpression) -> Iterator[str]:
    """Yield the names for which a literal stands where nothing else is given."""
    parent = flow.names.parents[literal]
    if isinstance(parent, _LISTS):  # choices=[…]
        parent = flow.names.parents[parent]
    elif isinstance(parent, cst.Element):
        parent = flow.names.parents[flow.names.parents[parent]]
    owner = flow.names.parents.get(parent)
    if isinstance(parent, cst.Arg) and isinstance(owner, cst.Call):
        name = last_name(owner.func)
        if name in ("add_argument", "option", "argument", "Option"):
            yield option_name(owner) or ""
        elif name in LOOKUPS and owner.args[0] is not parent:
            yield string_value(owner.args[0].value) or ""
        elif name == "getattr" and len(owner.args) > 1 and owner.args[1] is not parent:
            yield string_value(owner.args[1].value) or ""
    elif isinstance(parent, cst.BooleanOperation):  # os.environ.get("DEVICE") or "cuda"
        yield from origins(flow, parent.left) if parent.left is not literal else ()
    elif isinstance(parent, cst.DictElement) and parent.value is literal:
        yield string_value(parent.key) or ""
    elif isinstance(parent, cst.Param):
        yield parent.name.value
    elif isinstance(parent, (cst.Assign, cst.AnnAssign)):
        target = parent.target if isinstance(parent, cst.AnnAssign) else parent.targets[0].target
        cell = flow.cells.of(target)
        if isinstance(target, cst.Name) and cell is not None and cell.kind == "member":  # a field
            yield cell.name


def compared_with(flow: Flow, literal: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """Yield what a literal is compared with, and what its table is looked up with."""
    node: cst.CSTNode = literal
    parent = flow.names.parents[node]
    while isinstance(parent, (cst.Element, *_LISTS, cst.MatchValue, cst.MatchOrElement, cst.MatchOr)):
        node, parent = parent, flow.names.parents[parent]
    if isinstance(parent, cst.DictElement) and parent.key is literal:
        yield from flow.tables.looked_up_with(flow.names.parents[parent])
    elif isinstance(parent, cst.MatchCase):
        match = flow.names.parents[parent]
        yield from [match.subject] if isinstance(match, cst.Match) else ()
    elif isinstance(parent, cst.Arg):
        call = flow.names.parents[parent]
        if (
            isinstance(call, cst.Call)
            and isinstance(call.func, cst.Attribute)
            and call.func.attr.value in ASKS
        ):
            yield call.func.value
    elif isinstance(parent, (cst.Assign, cst.AnnAssign)) and node is not literal:  # VALID = ("cpu", "cuda")
        target = parent.target if isinstance(parent, cst.AnnAssign) else parent.targets[0].target
        cell = flow.cells.of(target)
        for read in flow.cells.reads(cell) if cell is not None else ():
            yield from _compared(flow, read)
    else:
        yield from _compared(flow, node)


def _compared(flow: Flow, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    parent = flow.names.parents[node]
    if isinstance(parent, cst.Comparison):
        yield from (target.comparator for target in parent.comparisons)
    elif isinstance(parent, cst.ComparisonTarget):
        comparison = flow.names.parents[parent]
        yield from [comparison.left] if isinstance(comparison, cst.Comparison) else ()
