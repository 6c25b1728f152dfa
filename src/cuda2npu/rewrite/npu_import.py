"""Inserts ``import torch_npu`` where changed code needs it, right after the torch import it depends on."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from cuda2npu.rewrite.change import Change
from cuda2npu.rewrite.insertion import place_after
from cuda2npu.rewrite.scopes import Binding, Scope
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.unit import Unit

RULE = "NPU001"


def insert_imports(unit: Unit) -> None:
    """Insert the imports that the changes collected in ``unit`` call for."""
    by_name = any(c.applied and c.after.startswith("torch_npu.") and not _is_import(c) for c in unit.changes)
    if not unit.npu_users or _is_imported(unit, unit.names.top, by_name):
        return
    done = set()
    for anchor in _chosen(unit, by_name):
        statement = _statement(unit, anchor)
        if statement not in done:
            done.add(statement)
            place = place_after(unit, statement)
            text = place.wrap("import torch_npu", "" if by_name else "  # noqa: F401")
            unit.replace(RULE, Span(place.offset, place.offset), text, at=statement, npu=False, site=False)


def _chosen(unit: Unit, by_name: bool) -> list[Binding]:
    """Return the imports to insert behind, in order."""
    anchors = [anchor for user in unit.npu_users if (anchor := _anchor(unit, user)) is not None]
    top = [anchor for anchor in anchors if anchor.scope is unit.names.top]
    always = [anchor for anchor in top if _always_runs(anchor)]
    if always:  # one import at the top serves the functions, too
        return [min(always, key=lambda anchor: anchor.order)]
    chosen = top or [anchor for anchor in anchors if not _is_imported(unit, anchor.scope, by_name)]
    return sorted(chosen, key=lambda anchor: anchor.order)


def _is_import(change: Change) -> bool:
    return change.group.startswith("import:")


def _always_runs(binding: Binding) -> bool:
    """Whether the import stands in its scope's own suite, and not in a try or an if."""
    node = binding.scope.node
    return binding.block is (node if isinstance(node, cst.Module) else getattr(node, "body", None))


def _imports(unit: Unit, scope: Scope) -> Iterator[Binding]:
    """Yield the imports of a scope that are carried out when the program runs."""
    for bindings in scope.bindings.values():
        for binding in bindings:
            if binding.kind in ("import", "star") and not _is_for_types(unit, binding):
                yield binding


def _is_imported(unit: Unit, scope: Scope, by_name: bool) -> bool:
    """Whether torch_npu is imported in ``scope`` already, or by a change of ours that always runs.

    :param by_name: whether it has to be bound to a name; ``from torch_npu.npu import amp`` only loads it.
    """
    needed = _first_use(unit) if scope is unit.names.top else len(unit.text)
    for binding in _imports(unit, scope):
        if unit.spans[binding.node].start > needed:
            continue
        if binding.target == "torch_npu" or binding in unit.replaced_by_npu:
            return True
        plan = unit.plans.get(binding)
        target = plan.target if plan is not None and _always_runs(binding) else binding.target
        if not by_name and (target or "").startswith(("torch.npu", "torch_npu")):
            return True
    return False


def _first_use(unit: Unit) -> int:
    """Return the offset of the first change that needs torch_npu while the module is being imported."""
    at_once = (user for user in unit.npu_users if unit.names.enclosing(user, cst.FunctionDef) is None)
    return min((unit.spans[user].start for user in at_once), default=len(unit.text))


def _is_for_types(unit: Unit, binding: Binding) -> bool:
    """Whether the import stands below ``if TYPE_CHECKING``, so that it never runs."""
    for node in unit.names.ancestors(binding.node):
        if isinstance(node, cst.If) and "TYPE_CHECKING" in unit.spans.text(node.test):
            return True
    return False


def _anchor(unit: Unit, user: cst.CSTNode) -> Binding | None:
    """Return the import of torch that ``user`` depends on: its own, or the nearest one in sight."""
    root: cst.CSTNode = user
    while isinstance(root, (cst.Attribute, cst.Call)):
        root = root.value if isinstance(root, cst.Attribute) else root.func
    if isinstance(root, cst.Name):
        for binding in reversed(unit.names.lookup(root)):
            if binding.kind == "import" and _is_torch(unit, binding) and not _is_for_types(unit, binding):
                return binding
    scope: Scope | None = unit.names.scope_at(user)
    others: list[Binding] = []
    while scope is not None:
        imports = list(_imports(unit, scope))
        found = [binding for binding in imports if _root(binding) == "torch"]
        if found:
            return min(found, key=lambda b: (not _always_runs(b), b.target != "torch", b.order))
        others += [binding for binding in imports if _is_torch(unit, binding)]
        scope = scope.parent
    # No torch in sight: a package that is built on it brings it in.
    return min(
        others, key=lambda b: (b.scope is not unit.names.top, not _always_runs(b), b.order), default=None
    )


def _root(binding: Binding) -> str:
    return (binding.target or "").partition(".")[0]


def _is_torch(unit: Unit, binding: Binding) -> bool:
    """Whether the import brings torch with it: torch itself, or a package that is built on it."""
    return _root(binding) == "torch" or _root(binding) in unit.catalog.torch_family


def _statement(unit: Unit, binding: Binding) -> cst.BaseSmallStatement:
    node = binding.node
    if isinstance(node, cst.ImportAlias):
        node = unit.names.parents[node]
    assert isinstance(node, cst.BaseSmallStatement)
    return node
