"""Comments by which a person switches rules off: ``# cuda2npu: ignore[NPU101]`` and ``skip-file``."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

_COMMENT = re.compile(r"#\s*cuda2npu:\s*(ignore|skip-file)\s*(?:\[([^\]\n]*)\])?")


class Suppressions:
    """The suppressing comments of one file.

    A comment behind code is about its own line; one that stands alone is about the next line of code.
    """

    def __init__(self, text: str) -> None:
        self.skip_file = False
        self._lines: dict[int, tuple[str, ...]] = {}
        self._starts: Sequence[int] = ()
        if "cuda2npu:" not in text:
            return
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
        for match in _COMMENT.finditer(text):
            if match[1] == "skip-file":
                self.skip_file = True
                continue
            codes = tuple(code.strip() for code in (match[2] or "").split(",") if code.strip())
            line = self._line(match.start())
            if not text[self._starts[line] : match.start()].strip():
                line += 1
            self._lines[line] = codes

    def covers(self, code: str, start: int) -> bool:
        """Whether the rule ``code`` is switched off at the character ``start``."""
        if not self._lines:
            return False
        codes = self._lines.get(self._line(start))
        return codes is not None and (not codes or any(code.startswith(prefix) for prefix in codes))

    def _line(self, offset: int) -> int:
        return bisect.bisect_right(self._starts, offset) - 1
