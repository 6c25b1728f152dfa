"""Where a shell script sets and reads environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuda2npu.rewrite.formats.shell_text import ShellText
from cuda2npu.rewrite.formats.variables import Place

_NAME = r"(?P<name>[A-Z][A-Z0-9_]*)"
# NAME=value, as a command of its own, behind export or env, or before a command.
_SET = re.compile(rf"""(?:^|(?<=[\s;&|(`{{])){_NAME}\+?=(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s;&|)`]*)""", re.M)
_READ = re.compile(rf"(?<!\\)\$(?:\{{#?)?{_NAME}\b")
_DEFAULT = re.compile(rf"(?<!\\)\$\{{{_NAME}:?[-=](?P<value>[^}}\n]+)\}}")
_COMPARED = re.compile(rf"\$\{{?{_NAME}\}}?[\"']?[ \t]+(?:==?|!=)[ \t]+[\"']?(?P<value>[\w,-]+)")
# export NAME, read -r NAME, unset NAME …: the names among their words.
_BUILTIN = re.compile(
    r"(?<![\w./$-])(?:export|readonly|local|declare|typeset|unset|read|printenv)(?=[ \t])"
    r"(?P<words>(?:\\\r?\n|[^\n;&|<>()`])*)"
)
_WORD = re.compile(rf"(?<=[ \t]){_NAME}(?=\s|\\?$)")
_LOOP = re.compile(rf"(?<![\w./$-])(?:for|select)[ \t]+{_NAME}(?=\s)")
# [[ -v NAME ]], env -u NAME, mpirun -x NAME, docker run -e NAME, --env=NAME
_OPTION = re.compile(rf"(?<=\s)(?:-[veux][ \t]+|--(?:env|unset)[ \t=]+){_NAME}(?=[\s;)&|\]=]|$)", re.M)
_LISTS = re.compile(r"(?<=\s)--(?:export|preserve-env|env|unset)=(?P<names>[^\s;&|)]+)")
_LISTED = re.compile(rf"(?:(?<=,)|^){_NAME}(?:=(?P<value>\d+(?:,\d+)*|[^,]*))?(?=,|$)")
# What is said to a person: an echo that nothing reads.
_SAID = re.compile(r"(?:^|[;&]|\b(?:then|else|do)\b)[ \t]*(?:echo|printf)[ \t][^;&]*$")
_LONGEST_LINE = 1000  # characters of what is meant for a person
_TO_ERRORS = re.compile(r"[12]?>&[12]")


def places(text: ShellText) -> Iterator[Place]:
    """Yield where the script sets or reads variables; of two at one place, the latter says more."""
    yield from reads(text.expanded, 0, len(text.expanded))
    for match in _BUILTIN.finditer(text.code):
        for word in _WORD.finditer(text.code, *match.span("words")):
            yield Place(word["name"], word.start("name"), None)
    for pattern in (_LOOP, _OPTION):
        for match in pattern.finditer(text.code):
            yield Place(match["name"], match.start("name"), None)
    for match in _LISTS.finditer(text.code):
        for name in _LISTED.finditer(match["names"]):
            yield Place(name["name"], match.start("names") + name.start(), name["value"])
    for match in _SET.finditer(text.code):
        yield Place(match["name"], match.start("name"), match["value"].strip("\"'"))


def reads(text: str, start: int, end: int) -> Iterator[Place]:
    """Yield where a part of a text reads variables, with the values that it takes instead or compares to."""
    for match in _READ.finditer(text, start, end):
        yield Place(match["name"], match.start("name"), None)
    for pattern in (_DEFAULT, _COMPARED):
        for match in pattern.finditer(text, start, end):
            yield Place(match["name"], match.start("name"), match["value"].strip("\"'"))


def is_said(text: str, at: int) -> bool:
    """Whether a word is a part of what ``echo`` says to a person, so that it needn't follow."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = _TO_ERRORS.sub(" " * 4, text[start : end if end >= 0 else None])
    if len(line) > _LONGEST_LINE or re.search(r"[|>`]|\$\(", line):
        return False
    return _SAID.search(text[start:at]) is not None
