"""What the user named to be converted, and what the paths in it are called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path, PurePath

from cuda2npu.settings import UsageError

PROJECT_FILES = (".git", "pyproject.toml", "setup.py", "setup.cfg")  # what the top of a project holds


@dataclass(frozen=True)
class Root:
    """One file or folder that the user named.

    :param path: an existing path, links resolved.
    :param name: what stands before (for a file: instead of) the paths inside it; empty for none.
    """

    path: Path
    name: str

    def join(self, inside: str) -> str:
        """Return what ``inside``, a path relative to this root, is called in reports."""
        return "/".join(part for part in (self.name, inside) if part)


def named_roots(sources: Sequence[str]) -> list[Root]:
    """Return roots whose paths start anew at each source: for a converted copy.

    A single folder has no name, so that the copy's paths are those of the folder.

    :raises UsageError: if a source doesn't exist or two would have the same name.
    """
    roots = [Root(path, path.name) for path in _existing(sources)]
    if len(roots) == 1 and roots[0].path.is_dir():
        return [Root(roots[0].path, "")]
    for inner, outer in permutations(roots, 2):
        if outer.path in inner.path.parents:
            raise UsageError(f"{inner.path} lies inside {outer.path}; name only one of them")
    by_name: dict[str, Root] = {}
    for root in roots:
        other = by_name.setdefault(root.name, root)
        if other is not root:
            raise UsageError(
                f"{other.path} and {root.path} have the same name and would overwrite each other; "
                "convert them one by one"
            )
    return roots


def given_roots(sources: Sequence[str]) -> list[Root]:
    """Return roots whose paths are as the user wrote them, relative to the working folder if they lie in it.

    :raises UsageError: if a source doesn't exist.
    """
    roots = []
    for given, path in zip(sources, _existing(sources)):
        name = os.path.normpath(given)
        if os.path.isabs(name):
            name = _below_here(name) or name
        name = "" if name == os.curdir else PurePath(name).as_posix()
        roots.append(Root(path, name))
    return roots


def surroundings(roots: Iterable[Root]) -> list[Root]:
    """Return the projects of those roots that are single files, as far as they lie in the working folder.

    What a file means may depend on definitions in its neighbours. A hook that hands over single
    files must come to the same result as a run over all of them.
    """
    folders = [_project_of(root.path.parent) for root in roots if not root.path.is_dir()]
    below = {_below_here(folder) for folder in folders if folder is not None}
    return given_roots(sorted(folder for folder in below if folder is not None))


def _project_of(folder: Path) -> Path | None:
    parents = (folder, *folder.parents)
    return next((f for f in parents if any((f / name).exists() for name in PROJECT_FILES)), None)


def _below_here(path: str | Path) -> str | None:
    relative = os.path.relpath(path)
    return None if PurePath(relative).parts[:1] == (os.pardir,) else relative


def _existing(sources: Sequence[str]) -> list[Path]:
    paths = []
    for source in sources:
        path = Path(os.path.realpath(source))
        if not os.path.lexists(path):
            raise UsageError(f"{source}: there is no such file or folder")
        paths.append(path)
    return paths
