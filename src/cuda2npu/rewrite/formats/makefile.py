"""Makefiles: the shell commands of their recipes."""

from __future__ import annotations

import re

from cuda2npu.rewrite.formats import shell
from cuda2npu.rewrite.formats.text_file import TextFile, blank

_RECIPE = re.compile(r"^\t[@+-]*(?P<commands>(?:\\\r?\n|[^\n])*)", re.M)
_COMMENT = re.compile(r"^[ ]*#(?:\\\r?\n|[^\n])*", re.M)
_DEVICE = re.compile(
    r"^(?:export[ \t]+)?(?P<name>(?:[A-Z][A-Z0-9_]*_)?DEVICE)[ \t]*(?:[?:]|::)?=[ \t]*"
    r"(?P<word>cuda)(?::\d+)?[ \t]*(?:#[^\n]*)?\r?$",
    re.M,
)


def is_makefile(path: str) -> bool:
    """Whether a file is a Makefile, by its name."""
    return re.fullmatch(r"(?:.*/)?(?:GNU)?[Mm]akefile|.*\.mk", path) is not None


def look_at_file(file: TextFile) -> None:
    """Convert the recipes. A variable that make itself knows stays: its other uses can't be followed."""
    recipes = [match.span("commands") for match in _RECIPE.finditer(file.text)]
    text = _COMMENT.sub(lambda match: blank(match[0]), file.text)
    devices = [(match["name"], match.start("word")) for match in _DEVICE.finditer(text)]
    shell.look_at(file, recipes, text, devices=devices)
