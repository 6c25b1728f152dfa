"""Which files belong to the job, and what each of them is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

from cuda2npu.messages import say
from cuda2npu.patterns import Matcher, matcher
from cuda2npu.rewrite.change import Status
from cuda2npu.rewrite.formats import notebook, others
from cuda2npu.roots import Root

MAX_MEGABYTES = 50
PYTHON_SUFFIXES = (".py", ".pyi", ".pyw", notebook.SUFFIX)
_SCRIPTS = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".pbs")  # sbatch runs Python as well
REPORT_FOLDER = "cuda2npu-report"
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"  # PEP 405: the file that makes a folder one
LEFT_OUT = frozenset(
    (
        *(".git", ".hg", ".svn", ".bzr"),
        *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".tox", ".nox", ".eggs"),
        *("node_modules", REPORT_FOLDER),
    )
)


class Kind(Enum):
    """What a path is, as far as a converted copy is concerned."""

    PYTHON = "python"  # converted
    DATA = "data"  # copied byte for byte
    LINK = "link"  # made anew, never followed
    FOLDER = "folder"
    NOTHING = "nothing"  # a pipe, a socket, a path that can't be looked at: not in the copy


@dataclass(frozen=True)
class Entry:
    """One path of the job.

    :param path: what it is called in reports and in a copy: with ``/``, and relative unless the user
        named an absolute path outside of the working folder.
    :param source: where it lies on disk.
    :param status: ``FAILED`` or ``SKIPPED`` where that is clear before any reading, with ``reason``;
        ``UNCHANGED`` for a file that isn't Python and is excluded.
    :param link: for a link, the target to write into a copy.
    """

    path: str
    source: str
    kind: Kind
    status: Status | None = None
    reason: str = ""
    link: str = ""

    @property
    def relative_path(self) -> str:
        """The path as the rewriter takes it: where the file stands among its neighbours."""
        return self.path.lstrip("/")


def discover(roots: Iterable[Root], exclude: Sequence[str] = (), lang: str = "en") -> Iterator[Entry]:
    """Yield everything below ``roots`` once, folders before what they hold, in the order of names.

    Version control, caches, virtual environments and earlier reports are left out, unless a root
    is one. Links are never followed, unless a root is one. Python files that match ``exclude``
    are skipped: in a copy they are as they were, as are links that match it, wherever they lead.
    Of other files that match, what they mention isn't said.

    :param exclude: patterns as in ``.gitignore``, relative to the root or to the working folder.
    :raises UsageError: for a pattern that is none.
    """
    excluded = matcher(exclude)
    seen: set[str] = set()
    for root in roots:
        walk = _Walk(root, excluded, lang)
        for entry in walk.folder() if root.path.is_dir() else walk.file():
            if entry.source not in seen:
                seen.add(entry.source)
                yield entry


class _Walk:
    """The walk over one root."""

    def __init__(self, root: Root, excluded: Matcher, lang: str) -> None:
        self.root = root
        self.top = str(root.path)
        self.excluded = excluded
        self.lang = lang

    def file(self) -> Iterator[Entry]:
        """Yield the root itself, a file: whatever it is called, it was asked for by name."""
        name, pattern = self.root.name, self.excluded(self.root.path.name, self.top, False)
        try:
            entry = self._file(name, self.top, os.stat(self.top), pattern)
        except OSError as error:
            entry = self._unreadable(name, self.top, error)
        if entry.kind is Kind.DATA and entry.status is None and not others.may_concern(name):
            reason = say("not_python", self.lang)
            entry = Entry(name, self.top, Kind.DATA, Status.SKIPPED, reason)
        yield entry

    def folder(self) -> Iterator[Entry]:
        """Yield what is below the root. A stack instead of recursion, so that no tree is too deep."""
        pending: list[tuple[str, str, str | None]] = [(self.top, "", None)]
        while pending:
            source, inside, excluded = pending.pop()
            name = self.root.join(inside)
            try:
                with os.scandir(source) as found:
                    children = sorted(found, key=lambda child: child.name)
            except OSError as error:
                reason = say("not_read", self.lang, reason=error.strerror)
                yield Entry(name or ".", source, Kind.FOLDER, Status.FAILED, reason)
                continue
            if name:
                yield Entry(name, source, Kind.FOLDER)
            folders = []
            for child in children:
                if child.name in LEFT_OUT:
                    continue
                below = f"{inside}/{child.name}" if inside else child.name
                is_folder = child.is_dir(follow_symlinks=False)
                pattern = excluded or self.excluded(below, child.path, is_folder)
                if not is_folder:
                    yield self._leaf(self.root.join(below), child, pattern)
                elif not os.path.lexists(os.path.join(child.path, VIRTUAL_ENVIRONMENT)):
                    folders.append((child.path, below, pattern))
            pending += reversed(folders)

    def _leaf(self, path: str, child: os.DirEntry[str], pattern: str | None) -> Entry:
        try:
            if child.is_symlink():
                return self._link(path, child.path, pattern)
            return self._file(path, child.path, child.stat(follow_symlinks=False), pattern)
        except OSError as error:  # it vanished since its folder was read
            return self._unreadable(path, child.path, error)

    def _file(self, path: str, source: str, info: os.stat_result, pattern: str | None) -> Entry:
        if not stat.S_ISREG(info.st_mode):
            what = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}.get(stat.S_IFMT(info.st_mode), "device")
            reason = say("special", self.lang, what=what)
            return Entry(path, source, Kind.NOTHING, Status.SKIPPED, reason)
        if not _is_python(source):
            return Entry(path, source, Kind.DATA, Status.UNCHANGED if pattern is not None else None)
        if pattern is not None:
            reason = say("excluded", self.lang, pattern=pattern)
            return Entry(path, source, Kind.DATA, Status.SKIPPED, reason)
        if info.st_size > MAX_MEGABYTES << 20:
            reason = say("too_large", self.lang, size=info.st_size >> 20, limit=MAX_MEGABYTES)
            return Entry(path, source, Kind.DATA, Status.FAILED, reason)
        return Entry(path, source, Kind.PYTHON)

    def _link(self, path: str, source: str, pattern: str | None) -> Entry:
        written, folder = os.readlink(source), os.path.dirname(source)
        target = os.path.realpath(source)
        if pattern is not None:
            return Entry(path, source, Kind.LINK, link=written)
        if os.path.islink(target):  # realpath stops where links go in a circle
            reason = say("link_loop", self.lang, target=written)
            return Entry(path, source, Kind.LINK, Status.FAILED, reason, written)
        if not self._holds(target):
            reason = say("link_out", self.lang, target=written)
            return Entry(path, source, Kind.LINK, Status.FAILED, reason, written)
        depth = len(PurePath(os.path.relpath(folder, self.top)).parts)
        if os.path.isabs(written) or PurePath(written).parts.count(os.pardir) > depth:
            # It comes back from outside of the tree; in a copy it must lead to the copy.
            direct = os.path.normpath(os.path.join(folder, written))
            written = os.path.relpath(direct if self._holds(direct) else target, folder)
        return Entry(path, source, Kind.LINK, link=written)

    def _holds(self, path: str) -> bool:
        return os.path.commonpath((path, self.top)) == self.top

    def _unreadable(self, path: str, source: str, error: OSError) -> Entry:
        reason = say("not_read", self.lang, reason=error.strerror)
        return Entry(path, source, Kind.NOTHING, Status.FAILED, reason)


def is_excluded(entry: Entry) -> bool:
    """Whether an entry is a Python file that the user has excluded."""
    return entry.status is Status.SKIPPED and entry.kind is Kind.DATA and _is_python(entry.source)


def _is_python(source: str) -> bool:
    """Whether the file has a Python suffix, or none, or a script's, and a first line that asks for Python."""
    suffix = os.path.splitext(source)[1].lower()
    if suffix and suffix not in _SCRIPTS:
        return suffix in PYTHON_SUFFIXES
    try:
        with open(source, "rb") as file:
            first = file.readline(200)
    except OSError:
        return False  # whoever reads it next will say so
    return first.startswith(b"#!") and b"python" in first
