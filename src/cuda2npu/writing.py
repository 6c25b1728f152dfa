"""Files that are written whole or not at all, and the converted copy of a tree."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable

from cuda2npu.discover import Entry, Kind
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.roots import Root
from cuda2npu.settings import UsageError

# Writes what became of one path; raises OSError where it can't.
Writer = Callable[[Entry, FileResult], None]


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a path beside ``target`` to write to, which takes the place of ``target`` at the end.

    If anything goes wrong before that, an interrupt included, ``target`` is as it was and the other
    path is gone.

    :raises OSError: if ``target`` can't be replaced.
    """
    temporary = target.with_name(f".cuda2npu-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def leave(entry: Entry, result: FileResult) -> None:
    """Write nothing: a dry run."""


def rewrite_in_place(entry: Entry, result: FileResult) -> None:
    """Give the file of ``entry`` its converted contents; permission bits and owner stay.

    The contents are on the disk before they take the old file's place, so that even a power cut
    leaves one of the two.
    """
    if result.status is not Status.CHANGED:
        return
    target = Path(entry.source)
    with replacing(target) as temporary:
        with temporary.open("xb") as file:
            file.write(result.data)
            file.flush()
            os.fsync(file.fileno())
        info = target.stat()
        with suppress(OSError, AttributeError):  # not root, or not a POSIX system
            os.chown(temporary, info.st_uid, info.st_gid)
        shutil.copymode(target, temporary)


def prepare(out: Path, roots: Sequence[Root], force: bool) -> None:
    """Make the folder for a converted copy.

    :raises UsageError: if it can't be made, would mix with its source, or isn't empty and ``force``
        is not given.
    """
    where = Path(os.path.realpath(out))
    for root in roots:
        if where == root.path:
            raise UsageError(f"{out} is the source itself; give another folder, or use --in-place")
        if root.path in where.parents:
            raise UsageError(f"{out} lies inside the source {root.path}; give a folder outside of it")
        if where in root.path.parents:
            raise UsageError(f"the source {root.path} lies inside {out}; give another folder")
    try:
        where.mkdir(parents=True, exist_ok=True)
        empty = not any(where.iterdir())
    except FileExistsError:
        raise UsageError(f"{out} is a file; give a folder") from None
    except OSError as error:
        raise UsageError(f"{out}: can't be used: {error.strerror}") from None
    if not (empty or force):
        raise UsageError(f"{out} is not empty; give another folder, or --force to write into it")


class Copy:
    """Writes a complete converted copy of everything below ``out``.

    Call it for every path in the order of :func:`~cuda2npu.discover.discover`, then :meth:`close` it.
    What stands in the way of a file is replaced, what the copy doesn't have is left alone.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self._folders: list[tuple[str, Path]] = []

    def __call__(self, entry: Entry, result: FileResult) -> None:
        """Write one path.

        :raises OSError: if it can't be read or written.
        """
        target = self.out / entry.path
        if entry.kind is Kind.FOLDER:
            self._folder(entry.source, target)
        elif entry.kind is Kind.LINK:
            with replacing(target) as temporary:
                os.symlink(entry.link, temporary)
        elif result.status is Status.CHANGED:
            with replacing(target) as temporary:
                temporary.write_bytes(result.data)
                shutil.copymode(entry.source, temporary)
        elif entry.kind is not Kind.NOTHING:
            with replacing(target) as temporary:
                shutil.copy2(entry.source, temporary)

    def close(self) -> None:
        """Give the folders the permission bits and times of their originals.

        Only now, as nothing could be written into a copy of a read-only folder.
        """
        for source, target in reversed(self._folders):
            with suppress(OSError):
                shutil.copystat(source, target)

    def _folder(self, source: str, target: Path) -> None:
        if target.is_symlink() or target.is_file():
            target.unlink()
        target.mkdir(parents=True, exist_ok=True)
        self._folders.append((source, target))
