"""Dockerfiles: variables and build stages, and the shell commands of RUN, CMD and ENTRYPOINT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from cuda2npu.rewrite.formats import shell, shell_text, shell_variables
from cuda2npu.rewrite.formats.comments import LINES, Comments
from cuda2npu.rewrite.formats.text_file import TextFile, blank
from cuda2npu.rewrite.formats.variables import Place
from cuda2npu.rewrite.held import plain

_NAME = re.compile(
    r"(?:.*/)?(?:(?:Docker|Container)file(?![^/]*\.(?:md|rst|txt|html)$)[^/]*|[^/]*\.(?:docker|container)file)",
    re.I,
)
_OTHER_ESCAPE = re.compile(r"\A(?:#[^\n]*\n)*#[ \t]*escape[ \t]*=[ \t]*`", re.I)
_INSTRUCTION = re.compile(r"[ \t]*(?:ONBUILD[ \t]+)?(?P<word>[A-Za-z]+)[ \t]+")
# NAME=value pairs of ENV and ARG; the value may be quoted, and blanks in it escaped.
_PAIR = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:=(?P<value>\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\\[^\n]|[^\s\\])*))?"
)
_OLD_ENV = re.compile(r"(?P<name>[A-Za-z_]\w*)[ \t]+(?P<value>[^\n=][^\n]*?)[ \t]*(?:\r?\n|$)")
_DEVICE = re.compile(r"(?:[A-Z][A-Z0-9_]*_)?DEVICE")
_IMAGE = re.compile(r"(?:--platform=\S+[ \t]+)?(?P<image>\S+)")
# ["python", "a.py", "--device", "cuda"]
_JSON = re.compile(r"[ \t]*\[[^\n]*\][ \t]*\r?\n?")
_JSON_PYTHON = re.compile(r"\"(?:[^\"]*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|[^\"]+\.py)\"")
_JSON_OPTION = re.compile(
    r"\"--[\w-]*(?:(?P<backend>backend)|device)(?:=|\"[ \t]*,[ \t]*\")(?P<word>nccl|cuda)(?::\d+)?\""
)
_COMMANDS = {"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK", "SHELL"}


class _Instruction(NamedTuple):
    """One instruction: its word, and where what follows it stands, over all the lines that it goes on."""

    word: str
    start: int
    end: int


def is_dockerfile(path: str) -> bool:
    """Whether a file is a Dockerfile, by its name."""
    return _NAME.fullmatch(path) is not None


def look_at_file(file: TextFile) -> None:
    """Convert a Dockerfile; one with another escape character than the backslash is left as it is."""
    file.has_comments(LINES)
    if _OTHER_ESCAPE.match(file.text):
        return
    text = _without_comments(file.text)
    instructions = list(_instructions(text))
    spans = [(start, end) for word, start, end in instructions if word in _COMMANDS]
    file.has_comments(Comments(spans=spans))  # of other instructions a # is a part
    places: list[Place] = []
    devices: list[tuple[str, int]] = []
    for word, start, end in instructions:
        if word not in _COMMANDS:
            places += shell_variables.reads(text, start, end)
        if word in ("ENV", "ARG"):
            found = list(_variables(text, word, start, end))
            places += found
            devices += _devices(text, found)
        if word == "FROM":
            _look_at_image(file, text, start, end)
        elif word == "ARG":
            _look_at_default(file, text, start, end)
    shell.look_at(file, spans, text, places, devices)
    _look_at_lists(file, text, [item for item in instructions if item.word in ("CMD", "ENTRYPOINT")])


def _look_at_lists(file: TextFile, text: str, instructions: Sequence[_Instruction]) -> None:
    """The options in lists of words, in a Dockerfile of which such a list starts Python code."""
    lists = [(start, end) for _, start, end in instructions if _JSON.fullmatch(text, start, end)]
    if not any(_JSON_PYTHON.search(text, *span) for span in lists):
        return
    for span in lists:
        for match in _JSON_OPTION.finditer(text, *span):
            backend, word = match["backend"] is not None, match["word"]
            if backend == (word == "nccl"):
                code = shell.BACKEND if backend else shell.DEVICE
                name = plain(re.split(r"[=\"]", match[0].strip('"'))[0])
                after = "hccl" if backend else "npu"
                file.replace(code, match.start("word"), word, after, unsafe=file.waits(name))


def _devices(text: str, places: Iterable[Place]) -> Iterator[tuple[str, int]]:
    """Yield the variables that hold a device, and where its word stands."""
    for place in places:
        if _DEVICE.fullmatch(place.name) and re.fullmatch(r"cuda(?::\d+)?", place.value or ""):
            yield place.name, text.index("cuda", place.start + len(place.name))


def _without_comments(text: str) -> str:
    """Blank out comment lines: inside an instruction that goes on they are no end of it."""
    return re.sub(r"^[ \t]*#[^\n]*", lambda match: blank(match[0]), text, flags=re.M)


def _instructions(text: str) -> Iterator[_Instruction]:
    at = 0
    while at < len(text):
        end = _end_of_line(text, at)
        match = _INSTRUCTION.match(text, at, end)
        if match is None:
            at = end
            continue
        while _goes_on(text, match.end(), end) and end < len(text):
            end = _end_of_line(text, end)
        word = match["word"].upper()
        if word in ("RUN", "COPY", "ADD"):
            for last_line in shell_text.documents(text[match.end() : end]):
                stop = re.compile(last_line, re.M).search(text, end)
                end = _end_of_line(text, stop.end()) if stop is not None else len(text)
        yield _Instruction(word, match.end(), end)
        at = end


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether the last line that isn't blank ends with a backslash."""
    return text[start:end].rstrip().endswith("\\")


def _variables(text: str, word: str, start: int, end: int) -> Iterator[Place]:
    """Yield what ENV and ARG set."""
    old = _OLD_ENV.match(text, start, end) if word == "ENV" else None
    if old is not None:
        yield Place(old["name"], old.start("name"), old["value"].strip("\"'"))
    else:
        at = start
        while match := _PAIR.search(text, at, end):
            value = match["value"]
            yield Place(match["name"], match.start("name"), value.strip("\"'") if value is not None else None)
            at = max(match.end(), at + 1)


def _look_at_image(file: TextFile, text: str, start: int, end: int) -> None:
    image = _IMAGE.match(text, start, end)
    if image is not None and not image["image"].startswith("$"):  # then the argument's default is looked at
        report_image(file, image["image"], image.start("image"))


def _look_at_default(file: TextFile, text: str, start: int, end: int) -> None:
    """The image that a FROM may take from the argument."""
    for match in _PAIR.finditer(text, start, end):
        value = (match["value"] or "").strip("\"'")
        if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+(?::[\w.-]+)?", value):
            report_image(file, value, match.start("value") + match["value"].index(value))


def report_image(file: TextFile, image: str, start: int) -> None:
    """Report the name of an image if it brings CUDA."""
    for rule, row in file.rows("base_image"):
        if fnmatchcase(image.lower(), row.name):
            file.report(rule.code, start, start + len(image), note=row.note)
            return
