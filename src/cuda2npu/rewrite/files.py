"""Converts a file by what it is."""

from __future__ import annotations

from cuda2npu.rewrite import engine
from cuda2npu.rewrite.change import FileResult
from cuda2npu.rewrite.formats import notebook
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.settings import Settings


def convert(data: bytes, path: str, settings: Settings, index: ProjectIndex) -> FileResult:
    """Convert the bytes of a Python file or a notebook; see :func:`.engine.convert`."""
    of_kind = notebook.convert if notebook.is_notebook(path) else engine.convert
    return of_kind(data, path, settings, index)
