"""A condition and what it guards move together, or not at all.

``if torch.cuda.is_available(): ext = CUDAExtension(…)`` works on a machine with NPUs as it is: the branch
isn't taken. If the condition became true there while the branch can't follow, a working program would
break. Such a condition is only offered, as an unsafe change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.rewrite.change import Finding
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import children, dotted
from cuda2npu.rewrite.unit import Unit

PACKAGES = "package_import"
# Functions whose names say that they are CUDA or Triton kernels: median_filter_cuda, cuda_scan, triton_add.
_KERNEL = re.compile(r"(?:^|\.)(?:(?!\w*to_cuda)\w+_cuda(?:_\w+)?|cuda_(?!is_)\w+|\w*triton\w*)$", re.I)
# What only CUDA's compiler is told.
_COMPILER = re.compile(r"\bnvcc\b|\bNVCC\b|\bCUDA_HOME\b|WITH_CUDA\b|\b__CUDA_|nvidia-smi")


def offer_incoherent_guards(unit: Unit) -> None:
    """Turn the conditions whose guarded code can't follow from applied into offered changes."""
    reason = unit.say(unit.catalog.reasons["kernel-branch"])
    for index, node in enumerate(unit.places):
        change = unit.changes[index]
        if not change.applied or change.applicability is not Applicability.SAFE or not change.site:
            continue
        if any(_cannot_follow(unit, region, partial) for region, partial in _guarded(unit, node)):
            unit.changes[index] = replace(
                change,
                applicability=Applicability.UNSAFE,
                applied=unit.settings.unsafe,
                message=f"{change.message}: {reason}",
            )
    kept = [place for index, place in enumerate(unit.places) if unit.changes[index].applied]
    unit.npu_users[:] = [user for user in unit.npu_users if user in set(kept)]


def _guarded(unit: Unit, node: cst.CSTNode) -> Iterator[tuple[list[cst.CSTNode], bool]]:
    """Yield what runs only if the condition that ``node`` is part of is true.

    The second value tells whether it must not hold a single thing that fails: what follows in an
    ``and`` is evaluated whole, while a branch in which something moves is worth entering.
    """
    child: cst.CSTNode = node
    negated = False
    for parent in unit.names.ancestors(node):
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            negated = not negated
        elif isinstance(parent, cst.Comparison):
            negated ^= any(isinstance(t.operator, (cst.NotEqual, cst.NotIn)) for t in parent.comparisons)
        elif isinstance(parent, cst.BooleanOperation):
            first_is_and = isinstance(parent.operator, cst.And) and not negated
            first_is_or = isinstance(parent.operator, cst.Or) and negated
            if child is parent.left and (first_is_and or first_is_or):
                yield [parent.right], True
        elif isinstance(parent, cst.IfExp):
            if child is parent.test:
                yield [parent.orelse if negated else parent.body], False
            return
        elif isinstance(parent, cst.Subscript) and isinstance(parent.value, cst.Dict):
            yield _entries(parent.value, negated), False  # {True: …, False: …}[torch.cuda.is_available()]
            return
        elif isinstance(parent, cst.If):
            if child is parent.test:
                yield _branch(unit, parent, negated), False
            return
        elif isinstance(parent, cst.Assign) and not negated:
            yield _behind_flag(unit, parent), False
            return
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.Lambda)):
            return
        child = parent


def _entries(table: cst.Dict, negated: bool) -> list[cst.CSTNode]:
    """Return what a dict has for the case that a condition holds."""
    pairs = (element for element in table.elements if isinstance(element, cst.DictElement))
    return [pair.value for pair in pairs if dotted(pair.key) == str(not negated)]


def _behind_flag(unit: Unit, assign: cst.Assign) -> list[cst.CSTNode]:
    """Return all that runs only if the variable is true that a condition is assigned to."""
    cells = unit.devices.cells
    cell = cells.of(assign.targets[0].target) if unit.devices.asks_for_cuda(assign.value) else None
    if cell is None or cell.kind != "variable" or len(list(cells.values(cell))) > 1:
        return []
    reads = cells.reads(cell)
    return [node for read in reads for region, _ in _guarded(unit, read) for node in region]


def _branch(unit: Unit, node: cst.If, negated: bool) -> list[cst.CSTNode]:
    """Return what runs if the condition holds; for a negated one, the ``else`` or what follows a return."""
    if not negated:
        return [node.body]
    if node.orelse is not None:
        return [node.orelse]
    block = unit.names.parents[node]
    if isinstance(block, cst.IndentedBlock) and _leaves(node.body):
        return list(block.body[list(block.body).index(node) + 1 :])
    return []


def _leaves(body: cst.BaseSuite) -> bool:
    """Whether a suite ends by leaving the function."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, (cst.Return, cst.Raise))


def _cannot_follow(unit: Unit, region: list[cst.CSTNode], whole: bool) -> bool:
    spans = [unit.spans[node] for node in region]
    here = [finding for finding in unit.findings if _within(finding.start, spans)]
    if whole:
        return any(finding.severity is Severity.BLOCKER for finding in here)
    if any(change.applied and _within(change.start, spans) for change in unit.changes):
        return False
    stuck = any(finding.severity is Severity.BLOCKER or _is_import(unit, finding) for finding in here)
    texts = (unit.text[span.start : span.end] for span in spans)
    return stuck or any(map(_COMPILER.search, texts)) or any(_calls_kernel(node) for node in region)


def _is_import(unit: Unit, finding: Finding) -> bool:
    """Whether an import is found that fails on an NPU, or needs something there, and no handler for it."""
    return unit.catalog.rules[finding.rule].codemod == PACKAGES and finding.severity is not Severity.INFO


def _within(offset: int, spans: list[Span]) -> bool:
    return any(start <= offset < end for start, end in spans)


def _calls_kernel(node: cst.CSTNode) -> bool:
    """Whether a function is called whose name says that it is a kernel for CUDA."""
    if isinstance(node, cst.Call):
        name = dotted(node.func) or ""
        if not name.startswith("self.") and _KERNEL.search(name):
            return True
    return any(_calls_kernel(child) for child in children(node))
