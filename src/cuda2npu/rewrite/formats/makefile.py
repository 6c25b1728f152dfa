"""Makefiles: the shell commands of their recipes."""

from __future__ import annotations

import re

from cuda2npu.rewrite.formats import shell
from cuda2npu.rewrite.formats.text_file import TextFile, blank

_RECIPE = re.compile(r"^\t[@+-]*(?P<commands>(?:\\\r?\n|[^\n])*)", re.M)
# A name outside of recipes, or one that make puts in.
_ELSEWHERE = re.compile(r"^(?!\t|[ ]*#).*$|\$[({]\w+[)}]", re.M)
_NAME = re.compile(r"\b[A-Z][A-Z0-9_]+\b")


def is_makefile(path: str) -> bool:
    """Whether a file is a Makefile, by its name."""
    return re.fullmatch(r"(?:.*/)?(?:GNU)?[Mm]akefile|.*\.mk", path) is not None


def look_at_file(file: TextFile) -> None:
    """Convert the recipes. A variable that make itself knows stays: its other uses can't be followed."""
    recipes = list(blank(file.text))
    for match in _RECIPE.finditer(file.text):
        start, end = match.span("commands")
        recipes[start:end] = file.text[start:end]
    known = {name for match in _ELSEWHERE.finditer(file.text) for name in _NAME.findall(match[0])}
    text = "".join(recipes)
    for name in known:
        text = re.sub(rf"\b{name}\b", lambda match: blank(match[0]), text)
    shell.look_at(file, text)
