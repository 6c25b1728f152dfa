"""Nothing is silent: every CUDA word in code that no rule has dealt with is listed as kept, with a reason."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

import libcst as cst

from cuda2npu.rewrite.change import Change, Finding, Kept
from cuda2npu.rewrite.spans import Span
from cuda2npu.rewrite.tree import dotted
from cuda2npu.rewrite.unit import Unit
from cuda2npu.rewrite.words import CUDA_WORD

_MAY_BE_DEVICE = re.compile(r"(?:rank:\d+/)?cuda(?::\d*)?|nccl")
_PATH = re.compile(r"[/\\]|\.\w")
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
            for part in _lines_with_words(unit.text, span):
                unit.keep(part, _reason(unit, node))


def report_unused_suppressions(unit: Unit) -> None:
    """Name the comments that switch nothing off: the rule doesn't apply there, or there is no such rule."""
    if unit.settings.select or unit.settings.ignore:
        return  # another run may need them
    for unused in unit.suppressions.unused:
        rule = unit.catalog.rules["NPU902"]
        summary, advice = unit.say(rule.summary), unit.say(rule.advice)
        unit.findings.append(Finding(rule.code, rule.severity, unused.start, unused.end, summary, advice))


def _tokens(unit: Unit) -> Iterator[cst.CSTNode]:
    for node in unit.names.parents:
        if not isinstance(node, (cst.Name, cst.SimpleString, cst.FormattedStringText)):
            continue
        if CUDA_WORD.search(node.value) and not _is_docstring(unit, node):
            yield node


def _lines_with_words(text: str, span: Span) -> Iterator[Span]:
    """Yield the span itself, or for a string of several lines the lines in it that have a CUDA word."""
    if "\n" not in text[span.start : span.end]:
        yield span
        return
    start = span.start
    for line in text[span.start : span.end].splitlines(keepends=True):
        if CUDA_WORD.search(line):
            stripped = line.strip()
            at = start + line.index(stripped)
            yield Span(at, at + len(stripped))
        start += len(line)


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
    if isinstance(node, cst.Name):
        return _reason_for_name(unit, node, unit.names.parents[node])
    text = getattr(node, "value", "")
    whole = unit.names.parents[node]
    literal = whole if isinstance(whole, (cst.ConcatenatedString, cst.FormattedString)) else node
    parent = unit.names.parents[literal]
    if isinstance(parent, cst.Index) or (isinstance(parent, cst.DictElement) and parent.key is literal):
        return "key"
    call = unit.names.enclosing(node, cst.Call)
    if call is not None:
        name = (dotted(call.func) or "").rpartition(".")[2]
        if name in _TEXT_CALLS or name.endswith(("Error", "Exception", "Warning")):
            return "text"
        if name == "add_argument" and text.strip("rbfu\"'").startswith("-"):
            return "option"
    if _is_message(unit, node) or " " in text.strip():
        return "text"
    if _MAY_BE_DEVICE.fullmatch(text.strip("rbfu\"'")):
        return "no-device"
    return "path" if _PATH.search(text) else "other-word"


def _is_message(unit: Unit, node: cst.CSTNode) -> bool:
    """Whether a string is what a raise or an assert says."""
    child = node
    for parent in unit.names.ancestors(node):
        if isinstance(parent, cst.Assert):
            return child is parent.msg
        if isinstance(parent, cst.Raise):
            return True
        child = parent
    return False


def _reason_for_name(unit: Unit, node: cst.Name, parent: cst.CSTNode) -> str:
    source = unit.names.enclosing(node, cst.ImportFrom)
    if source is not None:
        return _reason_for_module(unit, "." * len(source.relative) + (dotted(source.module) or ""))
    alias = unit.names.enclosing(node, cst.ImportAlias)
    if alias is not None:
        return _reason_for_module(unit, dotted(alias.name) or "")
    if isinstance(parent, cst.Arg) and parent.keyword is node:
        return "keyword"
    if isinstance(parent, cst.Attribute) and parent.attr is node:
        targets = sorted(unit.names.qualified(parent))
        return _reason_for_module(unit, targets[0]) if targets else "member"
    for binding in unit.names.lookup(node):
        if binding.target is not None:
            return _reason_for_module(unit, binding.target)
    return "own-name"


def _reason_for_module(unit: Unit, target: str) -> str:
    """A name that was imported: from torch, from the project itself, or from elsewhere."""
    if target.partition(".")[0] in ("torch", "torch_npu"):
        return "torch-name"
    if target.startswith(".") or unit.index.is_own(unit.path, target.partition(".")[0]):
        return "own-name"
    return "foreign-module"
