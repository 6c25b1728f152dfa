"""Where in the user's code something happens: the innermost frame that is neither torch's nor this tool's."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import torch

import cuda2npu

_LIBRARIES = tuple(str(Path(str(module.__file__)).parent) + os.sep for module in (torch, cuda2npu))
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = ("site-packages", "dist-packages")
_OPTIMIZERS = _LIBRARIES[0] + "optim" + os.sep


class Site(NamedTuple):
    """A line of a file, and whether torch's optimizers stand between it and what happens."""

    file: str
    line: int
    by_optimizer: bool = False

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}" if self.file else ""


NOWHERE = Site("", 0)


def site(other_thread: int | None = None) -> Site:
    """Return the line of the user's code that is being carried out.

    :param other_thread: the thread to look at where this one has no code of the user's: autograd runs the
        operators of an accelerator's backward pass in a thread of its own.
    """
    found = _first(sys._getframe(1))
    if found is NOWHERE and other_thread is not None:
        return _first(sys._current_frames().get(other_thread))
    return found


def defined(kind: type) -> Site:
    """Return where the ``forward`` of a module's class stands, if that is the user's code."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    if code is None or _kind(code.co_filename):
        return NOWHERE
    return Site(code.co_filename, code.co_firstlineno)


def _first(frame: FrameType | None) -> Site:
    by_optimizer = False
    while frame is not None:
        file = frame.f_code.co_filename
        kind = _kind(file)
        if not kind:
            return Site(file, frame.f_lineno, by_optimizer)
        by_optimizer = by_optimizer or kind == "optimizer"
        frame = frame.f_back
    return NOWHERE


@cache
def _kind(file: str) -> str:
    """Return "" for a file of the user's, which the packages that aren't torch's count as."""
    if file.startswith("<"):  # frozen modules, and code that torch makes up
        return "library"
    path = os.path.abspath(file)
    if path.startswith(_OPTIMIZERS):
        return "optimizer"
    if path.startswith(_LIBRARIES) or f"{os.sep}torch_npu{os.sep}" in path:
        return "library"
    is_package = any(f"{os.sep}{name}{os.sep}" in path for name in _PACKAGES)
    return "library" if path.startswith(_STANDARD) and not is_package else ""


@cache
def shown(file: str) -> str:
    """Return ``file`` relative to the packages, the program's folder or the working directory it lies in."""
    path = Path(os.path.abspath(file))
    for name in _PACKAGES:
        if name in path.parts:
            return Path(*path.parts[path.parts.index(name) + 1 :]).as_posix()
    for folder in (sys.path[0], os.getcwd()):
        with contextlib.suppress(ValueError):
            return path.relative_to(os.path.abspath(folder)).as_posix()
    return path.as_posix()
