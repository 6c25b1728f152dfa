"""Jupyter notebooks: their code cells are one program; all else stays byte for byte."""

from __future__ import annotations

import ast
import bisect
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst

from cuda2npu.catalog.load import load_catalog
from cuda2npu.messages import say
from cuda2npu.rewrite import engine
from cuda2npu.rewrite.bytes_test import concerns
from cuda2npu.rewrite.change import Change, FileResult, Finding, Kept, Status
from cuda2npu.rewrite.formats.json_spans import String, parse
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.rewrite.source import SourceError, decode
from cuda2npu.rewrite.words import cuda_words
from cuda2npu.settings import Settings

_Entry = TypeVar("_Entry", Change, Finding, Kept)

SUFFIX = ".ipynb"
MENTION = "NPU903"
# A line for IPython or the shell: %matplotlib inline, !nvidia-smi, ?torch, x = !ls, y = %time f()
_MAGIC = re.compile(r"^([ \t]*(?:[\w.]+[ \t]*=[ \t]*)?)([%!?].*|[\w.]+\?\??[ \t]*)$", re.M)
_CELL_MAGIC = re.compile(r"\A\s*%%(\w+)")
_PYTHON_CELLS = {"time", "timeit", "capture", "prun", "python", "python3"}  # what is below them is Python


def is_notebook(path: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return path.lower().endswith(SUFFIX)


def convert(data: bytes, path: str, settings: Settings, index: ProjectIndex) -> FileResult:
    """Convert the code cells of a notebook; the offsets in the result are into the source of a cell."""
    if not concerns(data, settings, index):
        return FileResult(path, Status.UNCHANGED)
    try:
        source = decode(data)
        notebook = _Notebook(source.text)
    except (SourceError, ValueError, RecursionError) as error:
        return FileResult(path, Status.FAILED, error=say("not_a_notebook", settings.lang, reason=error))
    if not notebook.is_python:
        findings = list(notebook.elsewhere(settings))
        cells = [cell.whole for cell in notebook.cells]
        return FileResult(path, Status.UNCHANGED, text=source.text, findings=findings, cells=cells)
    result = engine.convert(notebook.program.encode(), path, settings, index)
    if result.status in (Status.FAILED, Status.SKIPPED):
        return replace(result, text=source.text)
    changes = [notebook.place(change) for change in result.changes]
    applied = [change for change in changes if change.applied]
    return replace(
        result,
        encoding=source.encoding,
        text=source.text,
        data=source.encode(notebook.edited(applied)) if applied else data,
        changes=changes,
        findings=[*map(notebook.moved, result.findings), *notebook.elsewhere(settings)],
        kept=[notebook.moved(kept) for kept in result.kept],
        cells=[cell.source for cell in notebook.cells],
    )


@dataclass(frozen=True)
class _Cell:
    """A cell: the string literals that its source is written as; for one that isn't Python code, none."""

    number: int
    literals: Sequence[String]
    is_list: bool
    whole: str  # the source of a code cell in any language

    @cached_property
    def source(self) -> str:
        return "".join(literal.value for literal in self.literals)

    def other_lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line of the cell with its offset; empty where it is Python."""
        python = self.program.splitlines(keepends=True)
        at = 0
        for number, line in enumerate(self.whole.splitlines(keepends=True)):
            is_python = number < len(python) and python[number] == line
            yield at, "" if is_python else line.rstrip("\r\n")
            at += len(line)

    @property
    def program(self) -> str:
        """The source, with what isn't Python made a comment of the same length."""
        if _is_python(self.source):
            return self.source  # a line may begin with the operator %
        without = _MAGIC.sub(lambda match: match[1] + "0#"[: len(match[2])] + match[2][2:], self.source)
        # What isn't Python even so (pip install x, without a sign) must not keep the other cells from it.
        return (
            without
            if _is_python(without) or _is_newer_python(without)
            else re.sub(r"[^\r\n]", " ", self.source)
        )


class _Notebook:
    """The code cells of a notebook, one below the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        document = json.loads(text)
        if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
            raise ValueError("it has no list of cells, as notebooks have since version 4")
        self.metadata = _table(document.get("metadata"))
        self.cells = list(_cells(parse(text)))
        if not self.is_python:
            self.cells = [replace(cell, literals=()) for cell in self.cells]
        self.starts = []
        at = 0
        for cell in self.cells:
            self.starts.append(at)
            at += len(cell.program) + 1

    @property
    def is_python(self) -> bool:
        """Whether the cells are Python, as far as the notebook says."""
        kernel = _table(self.metadata.get("kernelspec"))
        info = _table(self.metadata.get("language_info"))
        return str(info.get("name") or kernel.get("language") or "python").lower().startswith("python")

    @property
    def program(self) -> str:
        return "\n".join(cell.program for cell in self.cells)

    def moved(self, entry: _Entry) -> _Entry:
        """Return an entry of the program with its cell and the offsets in it."""
        number = bisect.bisect_right(self.starts, entry.start) - 1
        at = self.starts[number]
        length = len(self.cells[number].source)
        return replace(
            entry, cell=number, start=min(entry.start - at, length), end=min(entry.end - at, length)
        )

    def place(self, change: Change) -> Change:
        """Return a change of the program as a change of one cell."""
        inserted = change.start == change.end and change.after.endswith("\n")
        if inserted and change.start in self.starts[1:]:  # behind the last line of the cell before
            number = self.starts.index(change.start) - 1
            end = len(self.cells[number].source)
            return replace(change, cell=number, start=end, end=end, after="\n" + change.after[:-1])
        return self.moved(change)

    def elsewhere(self, settings: Settings) -> Iterator[Finding]:
        """Yield a finding for each line for the shell or IPython that mentions CUDA."""
        rule = load_catalog(settings.rules).rules[MENTION]
        if not settings.selects(MENTION, rule.default):
            return
        summary, advice = (text.in_language(settings.lang) for text in (rule.summary, rule.advice))
        for cell in self.cells:
            for number, (start, line) in enumerate(cell.other_lines(), 1):
                if any(True for _ in cuda_words(line)):
                    end = start + len(line)
                    message = f"{summary} {number}"
                    yield Finding(MENTION, rule.severity, start, end, message, advice, cell.number)

    def edited(self, changes: Sequence[Change]) -> str:
        """Return the text of the notebook with ``changes`` carried out."""
        out, at = [], 0
        for change in changes:
            assert change.cell is not None
            cell = self.cells[change.cell]
            start = self.offset(cell, change.start, at_start=True)
            end = start if change.start == change.end else self.offset(cell, change.end, at_start=False)
            out += [self.text[at:start], self.literal(cell, change.after)]
            at = end
        return "".join([*out, self.text[at:]])

    def offset(self, cell: _Cell, index: int, at_start: bool) -> int:
        """Return where an offset of the source is; between two literals, at ``at_start`` of the second."""
        for literal in cell.literals:
            inside = index < len(literal.value) or (index == len(literal.value) and not at_start)
            if inside or literal is cell.literals[-1]:
                return literal.offset(self.text, index)
            index -= len(literal.value)
        raise ValueError("an offset behind the end of a cell")

    def literal(self, cell: _Cell, text: str) -> str:
        """Return new source as it is written in this notebook: a string for each line, or one for all."""
        lines = text.split("\n")
        ascii_only = self.text.isascii()
        written = [json.dumps(line, ensure_ascii=ascii_only)[1:-1] for line in lines]
        return f'\\n"{self.separator(cell)}"'.join(written) if cell.is_list else "\\n".join(written)

    def separator(self, cell: _Cell) -> str:
        """Return what stands between two strings of a list."""
        if len(cell.literals) > 1:
            return self.text[cell.literals[0].end + 1 : cell.literals[1].start - 1]
        first = cell.literals[0].start - 1
        before = self.text[:first]
        blank = before[len(before.rstrip()) :]
        return "," + (blank or " ")


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_newer_python(source: str) -> bool:
    """Whether LibCST takes what this Python doesn't: it knows the syntax of later versions."""
    try:
        cst.parse_module(source)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return False
    return True


def _cells(document: object) -> Iterator[_Cell]:
    assert isinstance(document, Mapping)
    for number, cell in enumerate(document["cells"]):
        source = cell.get("source") if isinstance(cell, Mapping) else None
        literals = [source] if isinstance(source, String) else list(source or ())
        kind = cell.get("cell_type") if isinstance(cell, Mapping) else None
        is_code = isinstance(kind, String) and kind.value == "code"
        is_code = is_code and all(isinstance(literal, String) for literal in literals)
        magic = _CELL_MAGIC.match("".join(literal.value for literal in literals)) if is_code else None
        whole = "".join(literal.value for literal in literals) if is_code else ""
        if not is_code or (magic is not None and magic[1] not in _PYTHON_CELLS):
            literals = []
        yield _Cell(number, literals, not isinstance(source, String), whole)
