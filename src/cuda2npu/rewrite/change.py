"""The vocabulary of the whole program: what was changed, what was found, what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from cuda2npu.catalog.grades import Applicability, Severity


class Status(str, Enum):
    """What became of a file."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Change:
    """One replaced span of the decoded text; an insertion has ``start == end``.

    ``start`` and ``end`` count characters of the text without BOM, newlines untouched.
    Changes with the same ``group`` are only right together. ``site`` is False where the change
    only serves another one (an inserted import) and is no CUDA use of its own. In a notebook,
    ``cell`` is the number of the cell, and the offsets are into its source.
    """

    rule: str
    applicability: Applicability
    applied: bool
    start: int
    end: int
    before: str
    after: str
    message: str
    group: str = ""
    site: bool = True
    cell: int | None = None


@dataclass(frozen=True)
class Finding:
    """A CUDA use that is left to a person, with what to do about it."""

    rule: str
    severity: Severity
    start: int
    end: int
    message: str
    advice: str = ""
    cell: int | None = None


@dataclass(frozen=True)
class Kept:
    """A CUDA word in code that is left on purpose, and why."""

    rule: str
    start: int
    end: int
    token: str
    reason: str
    cell: int | None = None


@dataclass(frozen=True)
class FileResult:
    """Everything that is known about one file after it was looked at.

    ``text`` is the decoded original, ``data`` the bytes to write; both are empty unless the file
    was read. ``error`` says why a file failed or was skipped. ``cells`` are the sources of a notebook.
    """

    path: str
    status: Status
    encoding: str | None = None
    error: str | None = None
    text: str = ""
    data: bytes = b""
    changes: Sequence[Change] = field(default=())
    findings: Sequence[Finding] = field(default=())
    kept: Sequence[Kept] = field(default=())
    cells: Sequence[str] = field(default=())


def apply(text: str, changes: Sequence[Change]) -> str:
    """Return ``text`` with ``changes`` carried out.

    The changes must be in order of their ``start`` and must not overlap; :class:`ValueError` names
    the first that does, or the first whose ``before`` isn't what stands in the text.
    """
    parts: list[str] = []
    at = 0
    for change in changes:
        if change.start < at or change.end < change.start:
            raise ValueError(f"{change.rule} at {change.start}..{change.end} overlaps the change before it")
        if text[change.start : change.end] != change.before:
            raise ValueError(f"{change.rule} at {change.start}: {change.before!r} does not stand there")
        parts += (text[at : change.start], change.after)
        at = change.end
    parts.append(text[at:])
    return "".join(parts)
