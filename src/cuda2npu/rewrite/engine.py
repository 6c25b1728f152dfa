"""Converts one file: parse once, walk once, collect, apply."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from cuda2npu.catalog.api import api_table
from cuda2npu.catalog.load import load_catalog_for
from cuda2npu.codemods import CODEMODS
from cuda2npu.codemods.base import Codemod
from cuda2npu.messages import say
from cuda2npu.rewrite.bytes_test import concerns
from cuda2npu.rewrite.change import FileResult, Status, apply
from cuda2npu.rewrite.coherence import offer_incoherent_guards
from cuda2npu.rewrite.coverage import keep_the_rest, report_unused_suppressions
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.rewrite.limits import TooDeepError, check_depth
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.npu_import import insert_imports
from cuda2npu.rewrite.source import Source, SourceError, decode
from cuda2npu.rewrite.spans import Spans
from cuda2npu.rewrite.suppress import Suppressions
from cuda2npu.rewrite.unit import Unit
from cuda2npu.settings import Settings

_STACK = 5000  # Python calls; a sum of a thousand terms needs some two thousand


class _RefusedError(Exception):
    """The file can't be handled; the message is the reason."""


def convert(data: bytes, path: str, settings: Settings, index: ProjectIndex) -> FileResult:
    """Convert the bytes of one Python file.

    :param path: path relative to the tree that is converted, with forward slashes.
    :return: the result. A file that can't be handled comes back as failed, with the reason.
    """
    if not concerns(data, settings, index):
        return FileResult(path, Status.UNCHANGED)
    try:
        source = decode(data)
    except SourceError as error:
        return FileResult(path, Status.FAILED, error=str(error))
    suppressions = Suppressions(source.text)
    if suppressions.skip_file:
        reason = say("skip_file", settings.lang)
        return FileResult(path, Status.SKIPPED, source.encoding, reason, source.text)
    try:
        with _room_to_recurse():
            unit = _analyse(source.text, path, settings, index, suppressions)
            _run(unit)
            return _result(unit, source, data)
    except _RefusedError as refused:
        return FileResult(path, Status.FAILED, source.encoding, str(refused), source.text)
    except RecursionError:
        reason = say("too_deep", settings.lang)
        return FileResult(path, Status.FAILED, source.encoding, reason, source.text)


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """LibCST and our walk go as deep as the code is nested; Python's default limit is short for that."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _analyse(
    text: str, path: str, settings: Settings, index: ProjectIndex, suppressions: Suppressions
) -> Unit:
    try:
        check_depth(text)
        module = cst.parse_module(text)
        spans = Spans(module, text)
    except cst.ParserSyntaxError as error:
        raise _RefusedError(_explain(error, text, settings.lang)) from None
    except (TooDeepError, ValueError) as error:
        raise _RefusedError(str(error)) from None
    names = Names(module, posixpath.dirname(path).replace("/", "."))
    for binding in [b for b in names.imports if b.kind == "star"]:
        for name, target in index.star_exports(path, binding.target or "").items():
            names.add_import(binding, name, target)
    catalog = load_catalog_for(settings.target, settings.rules)
    return Unit(
        path, text, names, spans, catalog, api_table(settings.target.version), settings, index, suppressions
    )


def _run(unit: Unit) -> None:
    """Let every codemod see the nodes it asks for, and collect what is left."""
    codemods = [codemod(unit) for codemod in CODEMODS]
    for codemod in codemods:
        for node_type, visit in _visits(codemod):
            for node in unit.names.nodes(node_type):
                visit(node)
        codemod.finish()
    offer_incoherent_guards(unit)
    insert_imports(unit)
    report_unused_suppressions(unit)
    keep_the_rest(unit)


def _visits(codemod: Codemod):  # type: ignore[no-untyped-def]
    for name in dir(codemod):
        if name.startswith("visit_"):
            yield getattr(cst, name[len("visit_") :]), getattr(codemod, name)


def _result(unit: Unit, source: Source, data: bytes) -> FileResult:
    changes = sorted(unit.changes, key=lambda change: (change.start, change.end))
    applied = [change for change in changes if change.applied]
    try:
        new = apply(source.text, applied)
        new_data = source.encode(new) if applied else data
    except ValueError as error:  # UnicodeEncodeError is one, too
        raise _RefusedError(say("contradiction", unit.settings.lang, reason=error)) from None
    if applied and _compiles(data) and not _compiles(new_data):
        raise _RefusedError(say("would_not_compile", unit.settings.lang))
    return FileResult(
        unit.path,
        Status.CHANGED if applied else Status.UNCHANGED,
        source.encoding,
        None,
        source.text,
        new_data,
        changes,
        sorted(unit.findings, key=lambda finding: finding.start),
        sorted(unit.kept, key=lambda kept: kept.start),
    )


def _compiles(data: bytes) -> bool:
    """Whether this Python can parse the file; a newer syntax says nothing about our changes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _explain(error: cst.ParserSyntaxError, text: str, lang: str) -> str:
    line = text.split("\n")[error.raw_line - 1].strip()[:60] if error.raw_line else ""
    python_2 = re.match(r"(print|exec)\s+[^(=\s]", line) is not None
    key = "syntax_error_python_2" if python_2 else "syntax_error"
    return say(key, lang, line=error.raw_line, column=error.raw_column + 1)
