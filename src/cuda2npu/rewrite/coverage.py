"""Nothing is silent: every CUDA word in code that no rule has dealt with is listed as kept, with a reason."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

import libcst as cst

from cuda2npu.rewrite.change import Change, Finding, Kept
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Unit
from cuda2npu.rewrite.words import CUDA_WORD

_TEXT_CALLS = {
    "print",
    "warn",
    "warning",
    "info",
    "debug",
    "error",
    "exception",
    "critical",
    "log",
    "getLogger",
}


def keep_the_rest(unit: Unit) -> None:
    """Add a kept entry for every CUDA word that lies in no change, finding or kept entry yet."""
    entries: list[Change | Finding | Kept] = [*unit.changes, *unit.findings, *unit.kept]
    covered = _merged([(entry.start, entry.end) for entry in entries])
    for node in _tokens(unit):
        span = unit.spans[node]
        if not _overlaps(covered, span):
            unit.keep(span, _reason(unit, node))


def _tokens(unit: Unit) -> Iterator[cst.CSTNode]:
    for node in unit.names.parents:
        if not isinstance(node, (cst.Name, cst.SimpleString, cst.FormattedStringText)):
            continue
        if CUDA_WORD.search(node.value) and not _is_docstring(unit, node):
            yield node


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _overlaps(merged: list[tuple[int, int]], span: Span) -> bool:
    index = bisect.bisect_right(merged, (span.start, len(merged) and merged[-1][1]))
    near = merged[max(index - 1, 0) : index + 1]
    return any(start < span.end and span.start < end for start, end in near)


def _is_docstring(unit: Unit, node: cst.CSTNode) -> bool:
    statement = unit.names.parents[node]
    if isinstance(statement, cst.ConcatenatedString):
        statement = unit.names.parents[statement]
    line = unit.names.parents.get(statement)
    if not isinstance(statement, cst.Expr) or line is None:
        return False
    block = unit.names.parents.get(line)
    if isinstance(line, cst.SimpleStatementSuite):
        block = line
    owner = block if isinstance(block, cst.Module) else unit.names.parents.get(block) if block else None
    if not isinstance(owner, (cst.Module, cst.ClassDef, cst.FunctionDef)):
        return False
    first = block.body[0] if isinstance(block, (cst.Module, cst.IndentedBlock)) and block.body else None
    if isinstance(line, cst.SimpleStatementSuite):
        return line.body[0] is statement
    return first is line and isinstance(line, cst.SimpleStatementLine) and line.body[0] is statement


def _reason(unit: Unit, node: cst.CSTNode) -> str:
    """Return the key of the reason why a word may stay."""
    parent = unit.names.parents[node]
    if isinstance(node, cst.Name):
        return _reason_for_name(unit, node, parent)
    if isinstance(parent, (cst.ConcatenatedString, cst.FormattedString)):
        parent = unit.names.parents[parent]
    if isinstance(parent, (cst.DictElement, cst.Index)):
        return "key"
    text = getattr(node, "value", "")
    call = unit.names.enclosing(node, cst.Call)
    if isinstance(call, cst.Call):
        name = (dotted(call.func) or "").rpartition(".")[2]
        if name in _TEXT_CALLS or name.endswith(("Error", "Exception", "Warning")):
            return "text"
        if name == "add_argument" and text.strip("rbfu\"'").startswith("-"):
            return "option"
    if unit.names.enclosing(node, cst.Raise, cst.Assert) is not None or " " in text.strip():
        return "text"
    if "/" in text or "\\" in text or "." in text:
        return "path"
    return "no-device"


def _reason_for_name(unit: Unit, node: cst.Name, parent: cst.CSTNode) -> str:
    if isinstance(parent, cst.ImportAlias) or unit.names.enclosing(node, cst.Import, cst.ImportFrom):
        return "foreign-module"
    if isinstance(parent, cst.Arg) and parent.keyword is node:
        return "keyword"
    if isinstance(parent, cst.Attribute) and parent.attr is node:
        return "foreign-module" if unit.names.qualified(parent) else "own-member"
    if any(binding.kind == "import" for binding in unit.names.lookup(node)):
        return "foreign-module"
    return "own-name"
