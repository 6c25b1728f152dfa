"""What one file of a project holds back: names whose values stay, so that nothing else may move as safe.

A configuration whose ``device: cuda`` is left to a person and a ``cfg["device"] == "cuda"`` in Python are
only right together. The same holds for a variable that a Makefile compares, and for an option that is
read in a file that isn't torch's. Names of keys and options have underscores, as Python reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuda2npu.rewrite.change import FileResult

_WORD = r"[\"']?(?:cuda|nccl)(?::\d+)?[\"']?(?=[ \t]*(?:[,}\]#\r\n]|$))"
# device: cuda, "device": "cuda", device = "cuda", device: &card cuda
_KEY = re.compile(rf"(?P<key>\w[\w-]*)[\"']?[ \t]*[:=][ \t]*(?:&(?P<anchor>[\w-]+)[ \t]+)?{_WORD}", re.M)
_ANCHOR = re.compile(rf"&(?P<anchor>[\w-]+)[ \t]+{_WORD}", re.M)
# device: *card, where: ${device}, where: ${train.device}
_ALIAS = re.compile(r"(?P<key>\w[\w-]*)[\"']?[ \t]*[:=][ \t]*\*(?P<of>[\w-]+)")
_READ = re.compile(r"(?P<key>\w[\w-]*)[\"']?[ \t]*[:=][ \t]*[\"']?\$\{(?:[\w.]*\.)?(?P<of>[\w-]+)\}")
_MOST = 1 << 16  # bytes: records of runs are larger than configurations are

VARIABLE = re.compile(r"(?:[A-Z][A-Z0-9_]*_)?DEVICE")
_ENVIRONMENT = re.compile(
    rb"""\b(?:environ(?:\.\w+\([ \t]*|\[)|getenv\([ \t]*)["']((?:[A-Z][A-Z0-9_]*_)?DEVICE)["']"""
)
_OPTION = re.compile(
    rb"""\b(?:add_argument|option)\((?:[ \t\r\n]*["'][^"'\n]*["'],)*?[ \t\r\n]*["']--([\w-]*device)["']"""
)


def plain(name: str) -> str:
    """Return the name under which Python reads a key or an option."""
    return name.lstrip("-").replace("-", "_")


def keys_left(result: FileResult) -> Iterator[str]:
    """Yield the keys of a configuration whose devices or backends stay, and are left to a person."""
    text = result.text
    if not text or len(text) > _MOST or not (result.findings or result.kept):
        return
    changed = {change.start for change in result.changes if change.applied}
    left = [match for match in _KEY.finditer(text) if not changed & set(range(match.start(), match.end()))]
    names = {plain(match["key"]) for match in left}
    anchors = {match["anchor"] for match in left if match["anchor"]}
    anchors |= {m["anchor"] for m in _ANCHOR.finditer(text) if not changed & set(range(*m.span()))}
    names |= {plain(match["key"]) for match in _ALIAS.finditer(text) if match["of"] in anchors}
    names |= {plain(match["key"]) for match in _READ.finditer(text) if plain(match["of"]) in names}
    yield from names


def read_in_python(data: bytes) -> Iterator[str]:
    """Yield the options and variables for a device that a Python file takes."""
    for match in _ENVIRONMENT.finditer(data):
        yield match[1].decode()
    for match in _OPTION.finditer(data):
        yield plain(match[1].decode())
