"""What ``--exclude`` leaves out: patterns as in ``.gitignore``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Callable, Optional

from cuda2npu.settings import UsageError

if TYPE_CHECKING:
    import pathspec

# (path relative to its root, path on disk, whether it is a folder) -> the pattern that excludes it
Matcher = Callable[[str, str, bool], Optional[str]]


def matcher(patterns: Sequence[str]) -> Matcher:
    """Return a function that finds the pattern by which a path is excluded.

    Patterns may be relative to the root that is walked or to the working folder: people write
    ``--exclude repo/old`` as well as ``--exclude old``.

    :raises UsageError: for a pattern that is none.
    """
    patterns = [pattern for pattern in patterns if pattern.strip()]
    if not patterns:
        return lambda inside, source, is_folder: None
    import pathspec

    try:
        spec = pathspec.GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise UsageError(f"--exclude: not a pattern as in .gitignore: {error}") from None
    here = os.path.realpath(os.curdir)

    def match(inside: str, source: str, is_folder: bool) -> str | None:
        end = "/" if is_folder else ""
        found = _pattern(spec, patterns, inside + end)
        if found is None and source.startswith(here + os.sep):
            found = _pattern(spec, patterns, PurePath(os.path.relpath(source, here)).as_posix() + end)
        return found

    return match


def _pattern(spec: pathspec.GitIgnoreSpec, patterns: Sequence[str], path: str) -> str | None:
    result = spec.check_file(path)
    return patterns[result.index] if result.include and result.index is not None else None
