"""Where a format has comments, and the ones by which a person switches rules off."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_OURS = re.compile(r"[ \t]*cuda2npu:[ \t]*(?:(?P<skip>skip-file\b)|ignore(?:\[(?P<codes>[^\]\n]*)\])?)")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")


@dataclass(frozen=True)
class Comments:
    """What begins a comment in a kind of file.

    :param marks: characters that begin one where nothing but blanks stands before them.
    :param behind: what has to stand before a ``#`` that begins one behind something, as a pattern; None
        if there it is a part of the value.
    :param spans: where in the text that is so; everywhere by default.
    """

    marks: str = "#"
    behind: str | None = r"[ \t]"
    spans: Sequence[tuple[int, int]] | None = None

    def begin(self, line: str, at: int) -> tuple[int, bool] | None:
        """Return where the comment of a line begins, and whether it stands alone; None if there is none.

        A ``#`` inside of quotes begins none.

        :param at: where the line stands in the text.
        """
        stripped = line.lstrip(" \t")
        if stripped[:1] and stripped[0] in self.marks:
            return len(line) - len(stripped), True
        for match in re.finditer(f"(?<={self.behind})#", line) if self.behind is not None else ():
            before = _APOSTROPHE.sub("", line[: match.start()])
            if not before.count('"') % 2 and not before.count("'") % 2 and self._has(at + match.start()):
                return match.start(), False
        return None

    def _has(self, offset: int) -> bool:
        return self.spans is None or any(start <= offset < end for start, end in self.spans)


LINES = Comments(behind=None)
NONE = Comments(marks="", behind=None)


@dataclass(frozen=True)
class Switches:
    """What comments switch off.

    :param lines: number of a line, from 0 -> beginnings of codes, or none for all rules.
    """

    lines: Mapping[int, tuple[str, ...]]
    skip_file: bool = False


def switches(text: str, comments: Comments) -> Switches:
    """Find our comments. One behind something is about its line, one alone about the next, too."""
    found: dict[int, tuple[str, ...]] = {}
    skip_file, at = False, 0
    for number, line in enumerate(text.split("\n") if "cuda2npu:" in text else ()):
        begin = comments.begin(line, at) if "cuda2npu:" in line else None
        at += len(line) + 1
        ours = _OURS.match(line, begin[0] + 1) if begin is not None else None
        if begin is None or ours is None:
            continue
        alone = begin[1]
        if ours["skip"]:
            skip_file = skip_file or alone
            continue
        codes = tuple(prefix.strip() for prefix in (ours["codes"] or "").split(",") if prefix.strip())
        found[number] = codes
        if alone:
            found.setdefault(number + 1, codes)
    return Switches(found, skip_file)
