"""Many files: the index over all of them, then each one converted and written, in order."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Callable

from cuda2npu import workers
from cuda2npu.catalog.load import load_catalog
from cuda2npu.discover import Entry, Kind, is_excluded
from cuda2npu.messages import say
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.formats import others
from cuda2npu.rewrite.formats.mention import MAX_SIZE
from cuda2npu.rewrite.formats.notebook import is_notebook
from cuda2npu.rewrite.index import ProjectIndex, build_index, notebook_uses
from cuda2npu.settings import Settings
from cuda2npu.writing import Writer


def index(entries: Iterable[Entry], rules: Sequence[str] = ()) -> ProjectIndex:
    """Return what the Python files among ``entries`` define.

    :param rules: the user's files of rules.
    """
    entries = list(entries)
    family = load_catalog(tuple(rules)).torch_family
    data = {entry.source: entry for entry in entries if entry.kind is Kind.DATA and entry.status is None}
    python = {entry.source: entry for entry in entries if entry.kind is Kind.PYTHON or is_excluded(entry)}
    fixed = frozenset(entry.relative_path for entry in python.values() if is_excluded(entry))
    notebooks = [entry for entry in python.values() if is_notebook(entry.path)]  # nobody imports them
    modules = (entry for entry in python.values() if not is_notebook(entry.path))
    found = build_index(((entry.relative_path, _reader(entry)) for entry in modules), fixed, family)
    packages = family | {"torch"}
    uses_torch = found.uses_torch or any(notebook_uses(_reader(entry)(), packages) for entry in notebooks)
    held = found.held.union(*(_held(entry, rules, uses_torch) for entry in data.values()))
    return replace(found, uses_torch=uses_torch, held=held)


def _held(entry: Entry, rules: Sequence[str], uses_torch: bool) -> frozenset[str]:
    """Return the names whose values stay in a file that isn't Python, excluded as it may be."""
    if not others.may_concern(entry.relative_path):
        return frozenset()
    data = _reader(entry)()
    if len(data) > MAX_SIZE:
        return frozenset()
    try:
        return others.held(data, entry.relative_path, Settings(rules=tuple(rules)), uses_torch)
    except Exception:  # converting the file will say so
        return frozenset()


def _reader(entry: Entry) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            return Path(entry.source).read_bytes()
        except OSError:
            return b""  # defines nothing; that it can't be read is said when it is converted

    return read


def convert_one(data: bytes, path: str, settings: Settings) -> FileResult:
    """Convert one file that stands alone."""
    return workers.convert_bytes(data, path, settings, build_index([(path, lambda: data)]))


def convert(
    entries: Sequence[Entry], settings: Settings, project: ProjectIndex, write: Writer
) -> Generator[FileResult, None, None]:
    """Convert and write every path of the job, in the order of ``entries``.

    Yield the result of every Python file, and of every other path that failed, was skipped or mentions CUDA.
    Results aren't kept here, so that a large project needs no more memory than a small one. Close
    the iterator if you stop before its end.
    """
    python = [entry for entry in entries if entry.kind is Kind.PYTHON]
    with closing(workers.convert(python, settings, project)) as converted:
        for entry in entries:
            if entry.kind is Kind.PYTHON:
                result = next(converted)
            else:
                result = _other(entry, settings, project) or FileResult(
                    entry.path, entry.status or Status.UNCHANGED, error=entry.reason or None
                )
            result = _written(entry, result, settings, write)
            if entry.kind is Kind.PYTHON or _says_something(result):
                yield result


def _says_something(result: FileResult) -> bool:
    return result.status is not Status.UNCHANGED or bool(result.changes or result.findings or result.kept)


def _other(entry: Entry, settings: Settings, project: ProjectIndex) -> FileResult | None:
    """Convert a file that isn't Python; None if there is nothing to say about it."""
    if entry.kind is not Kind.DATA or entry.status is not None or not others.may_concern(entry.path):
        return None
    if any(_is_same(entry.source, rules) for rules in settings.rules):
        return None  # a rule file is ours: the CUDA names in it are what it is about
    try:
        with Path(entry.source).open("rb") as source:
            data = source.read(MAX_SIZE + 1)
    except OSError:
        return None  # that it can't be read is said when it is copied
    try:
        result = others.convert(data, entry.relative_path, settings, project.uses_torch, project.held)
    except Exception as error:  # a fault of ours in one file must not take the others with it
        reason = say("internal", settings.lang, reason=f"{type(error).__name__}: {error}")
        return FileResult(entry.path, Status.FAILED, error=reason)
    return replace(result, path=entry.path) if result is not None else None


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _written(entry: Entry, result: FileResult, settings: Settings, write: Writer) -> FileResult:
    try:
        write(entry, result)
    except OSError as error:
        if result.status is Status.FAILED:
            return result  # what can't be read can't be copied; the first reason is the better one
        key = "not_written" if entry.kind is Kind.PYTHON else "not_copied"
        reason = say(key, settings.lang, reason=error.strerror or error)
        return FileResult(entry.path, Status.FAILED, encoding=result.encoding, error=reason)
    return result
