"""INI and its kin: the standard parser says whether a text is valid, a scanner where its values stand."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cuda2npu.rewrite.formats.comments import Comments
from cuda2npu.rewrite.formats.configuration import Format, UnreadableError, Value

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
_OPTION = re.compile(r"(?P<key>[^=:\s][^=:]*)[=:]")
# The standard parser takes time in square of the blanks in a key.
_BLANKS = re.compile(r"^[^=:\r\n]*?[ \t]{200}", re.M)


class Ini(Format):
    """Sections with options; of a value that goes on, each line is one, below a key without a name."""

    comments = Comments(marks="#;", behind=None)

    def values(self, text: str) -> Iterator[Value]:
        _load(text)
        section, key = "", ""
        waiting: Value | None = None  # it may go on in the next line
        for match in _LINE.finditer(text):
            line = match[0].rstrip("\r\n")
            stripped = line.strip()
            if not stripped or stripped[0] in "#;":
                continue
            if line[0].isspace() and key:
                start = match.start() + line.index(stripped)
                if waiting is not None:
                    yield replace(waiting, keys=(section, key, ""))
                    waiting = None
                yield Value((section, key, ""), stripped, start, start + len(stripped))
                continue
            if waiting is not None:
                yield waiting
                waiting = None
            indent = len(line) - len(line.lstrip())
            header = _SECTION.match(stripped)
            option = _OPTION.match(line, indent)
            if header is not None:
                section, key = header["name"], ""
            elif option is not None:
                key = option["key"].rstrip(" \t")
                value = line[option.end() :].rstrip(" \t")
                end = match.start() + option.end() + len(value)
                value = value.lstrip(" \t")
                waiting = Value((section, key), value, end - len(value), end, match.start() + indent)
            else:
                key = stripped
        if waiting is not None:
            yield waiting

    def outline(self, text: str) -> Sequence[object]:
        parser = _load(text)
        out: list[object] = []
        for section in parser.sections():
            out.append(section)
            for key, value in parser.items(section):
                out += (key, value)
        return out


def _load(text: str) -> configparser.RawConfigParser:
    if _BLANKS.search(text):
        raise UnreadableError("hundreds of blanks in a row")
    parser = configparser.RawConfigParser(allow_no_value=True, default_section="\0")
    parser.optionxform = str  # type: ignore[assignment]
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError) as error:
        raise UnreadableError(" ".join(str(error).split())) from None
    return parser
