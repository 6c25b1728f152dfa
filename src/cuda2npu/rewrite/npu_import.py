"""Inserts ``import torch_npu`` where changed code needs it, right after the torch import it depends on."""

from __future__ import annotations

import libcst as cst

from cuda2npu.rewrite.insertion import place_after
from cuda2npu.rewrite.scopes import Binding, Scope
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.unit import Unit

RULE = "NPU001"


def insert_imports(unit: Unit) -> None:
    """Insert the imports that the changes collected in ``unit`` call for."""
    if not unit.npu_users or _is_imported(unit, unit.names.top):
        return
    anchors = [_anchor(unit, user) for user in unit.npu_users]
    top = [a for a in anchors if a is not None and a.scope is unit.names.top]
    if top:  # one import at the top serves the functions, too
        chosen = {min(top, key=lambda a: a.order)} | {a for a in top if not _always_runs(a)}
    else:
        chosen = {a for a in anchors if a is not None and not _is_imported(unit, a.scope)}
    needs_name = any(change.applied and "torch_npu." in change.after for change in unit.changes)
    done = set()
    for anchor in sorted(chosen, key=lambda a: a.order):
        statement = _statement(unit, anchor)
        if statement not in done:
            done.add(statement)
            place = place_after(unit, statement)
            text = place.wrap("import torch_npu", "" if needs_name else "  # noqa: F401")
            unit.replace(RULE, Span(place.offset, place.offset), text, at=statement, npu=False, site=False)


def _always_runs(binding: Binding) -> bool:
    """Whether the import stands in its scope's own suite, and not in a try or an if."""
    node = binding.scope.node
    return binding.block is (node if isinstance(node, cst.Module) else getattr(node, "body", None))


def _is_imported(unit: Unit, scope: Scope) -> bool:
    """Whether torch_npu is imported in ``scope`` already, or by a change of ours that always runs."""
    for bindings in scope.bindings.values():
        for binding in bindings:
            if binding.kind not in ("import", "star") or _is_for_types(unit, binding):
                continue
            if (binding.target or "").partition(".")[0] == "torch_npu":
                return True
            plan = unit.plans.get(binding)
            if (
                plan is not None
                and plan.target.startswith(("torch.npu", "torch_npu"))
                and _always_runs(binding)
            ):
                return True
    return False


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
    while scope is not None:
        found = [
            binding
            for bindings in scope.bindings.values()
            for binding in bindings
            if binding.kind in ("import", "star")
            and _is_torch(unit, binding)
            and not _is_for_types(unit, binding)
        ]
        if found:
            return min(found, key=lambda b: (b.target != "torch", not _from_torch(b), b.order))
        scope = scope.parent
    return None


def _from_torch(binding: Binding) -> bool:
    return (binding.target or "").partition(".")[0] == "torch"


def _is_torch(unit: Unit, binding: Binding) -> bool:
    """Whether the import brings torch with it: torch itself, or a package that is built on it."""
    root = (binding.target or "").partition(".")[0]
    return root == "torch" or root in unit.catalog.torch_family


def _statement(unit: Unit, binding: Binding) -> cst.BaseSmallStatement:
    node = binding.node
    if isinstance(node, cst.ImportAlias):
        node = unit.names.parents[node]
    assert isinstance(node, cst.BaseSmallStatement)
    return node
