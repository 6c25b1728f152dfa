"""The one truth about a run: the JSON document ``cuda2npu-report/1``. Every other output is a view of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from cuda2npu import __version__
from cuda2npu.catalog.grades import Severity
from cuda2npu.report.positions import Positions
from cuda2npu.rewrite.change import Change, FileResult, Finding, Kept, Status
from cuda2npu.settings import Target

SCHEMA = "cuda2npu-report/1"

Json = dict[str, Any]


class Report:
    """Collects results, one file after the other, and holds no texts."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._files: list[Json] = []
        self._count: Counter[str] = Counter()

    def add(self, result: FileResult) -> None:
        """Add one file."""
        self._count.update(_counts(result))
        if result.status is not Status.UNCHANGED or result.changes or result.findings or result.kept:
            self._files.append(file_entry(result))

    def document(self) -> Json:
        """Return the whole report, ready for :func:`json.dumps`."""
        count = self._count
        rewritten = count["safe"] + count["unsafe"]
        severity = {each.value: count[each.value] for each in Severity}
        manual = count["offered"] + sum(severity.values())
        return {
            "schema": SCHEMA,
            "tool": {"name": "cuda2npu", "version": __version__},
            "target": {"torch": self._target.torch, "soc": self._target.soc},
            "summary": {
                "files": count["files"],
                "changed": count["changed"],
                "sites": rewritten + manual,
                "rewritten": rewritten,
                "safe": count["safe"],
                "unsafe": count["unsafe"],
                "manual": manual,
                "offered": count["offered"],
                "severity": severity,
                "kept": count["kept"],
                "skipped": count["skipped"],
                "failed": count["failed"],
            },
            "files": self._files,
        }


def file_entry(result: FileResult) -> Json:
    """Return what the report says about one file."""
    places = [(Positions(text), f"{result.path}:{number}") for number, text in enumerate(result.cells)]
    texts = [(at, _Ids(name, at)) for at, name in places or [(Positions(result.text), result.path)]]
    return {
        "path": result.path,
        "status": result.status.value,
        "error": result.error,
        "encoding": result.encoding,
        "changes": [
            _in_cell(change.cell, _change(change, *texts[change.cell or 0])) for change in result.changes
        ],
        "findings": [
            _in_cell(found.cell, _finding(found, *texts[found.cell or 0])) for found in result.findings
        ],
        "kept": [_in_cell(kept.cell, _kept(kept, texts[kept.cell or 0][0])) for kept in result.kept],
    }


def _in_cell(cell: int | None, entry: Json) -> Json:
    """Add the number of the cell to an entry of a notebook."""
    return entry if cell is None else {"cell": cell, **entry}


def _counts(result: FileResult) -> Iterable[str]:
    """Yield the name of every number in the summary to which something in the file adds one."""
    if result.status is not Status.SKIPPED:
        yield "files"  # looked at
    if result.status is not Status.UNCHANGED:
        yield result.status.value
    for change in result.changes:
        if change.site:
            yield change.applicability.value if change.applied else "offered"
    yield from (finding.severity.value for finding in result.findings)
    yield from ("kept" for _ in result.kept)


def _change(change: Change, at: Positions, ids: _Ids) -> Json:
    entry = {
        "id": ids.new(change.rule, change.start, change.before, change.after),
        "rule": change.rule,
        "applicability": change.applicability.value,
        "applied": change.applied,
        "start": change.start,
        "end": change.end,
        **_span(change.start, change.end, at),
        "before": change.before,
        "after": change.after,
        "message": change.message,
    }
    if change.group:
        entry["group"] = change.group
    if not change.site:
        entry["site"] = False  # it only serves another change
    return entry


def _finding(finding: Finding, at: Positions, ids: _Ids) -> Json:
    return {
        "id": ids.new(finding.rule, finding.start, finding.message),
        "rule": finding.rule,
        "severity": finding.severity.value,
        **_span(finding.start, finding.end, at),
        "token": at.text[finding.start : finding.end],
        "message": finding.message,
        "advice": finding.advice,
    }


def _kept(kept: Kept, at: Positions) -> Json:
    return {
        "rule": kept.rule,
        **_span(kept.start, kept.end, at),
        "token": kept.token,
        "reason": kept.reason,
    }


def _span(start: int, end: int, at: Positions) -> Json:
    line, column = at.start(start)
    end_line, end_column = at.end(start, end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


class _Ids:
    """Names for the places in one file that stay when other lines come and go.

    A name is made of what stands at the place and in its line, not of where that is. Equal ones are
    told apart by counting them.
    """

    def __init__(self, path: str, at: Positions) -> None:
        self._path = path
        self._at = at
        self._seen: Counter[tuple[str, ...]] = Counter()

    def new(self, rule: str, start: int, *what: str) -> str:
        key = (self._path, rule, *what, self._at.line(self._at.start(start)[0]))
        number = self._seen[key]
        self._seen[key] += 1
        digest = hashlib.sha256("\0".join((*key, str(number))).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:12]
