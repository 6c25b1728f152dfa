"""What error codes and messages mean, from ``error_codes.json``, which names its sources."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cuda2npu.doctor.check import Said, State, Text, message

TABLE = Path(__file__).with_name("error_codes.json")
INTERNAL = "9"  # E?9???; 0000 to 8999 are faults of the user


@dataclass(frozen=True)
class Meaning:
    """What a code means.

    :param known: whether the code itself is in the table; else only its family is known.
    """

    code: str
    known: bool
    state: State
    meaning: Said
    advice: Said
    source: str


@dataclass(frozen=True)
class Phrase:
    """A message that is recognised by its text.

    :param needle: what must stand in a log for ``pattern`` to be tried, since searching for it is fast.
    """

    code: str
    needle: bytes
    pattern: re.Pattern[bytes]


class Codes:
    """The table."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._entries = {entry["code"]: entry for entry in (*table["codes"], *table["texts"])}
        self.phrases = [_phrase(entry) for entry in table["texts"]]

    def explain(self, code: str) -> Meaning:
        """Return what is known of a code; of one that isn't in the table, what its form says."""
        if code in self._entries:
            return self._entry(self._entries[code])
        if code.startswith("ERR"):
            return self._err(code)
        if code.startswith("E"):
            return self._cann(code)
        return self._acl(code)

    def explain_text(self, text: str) -> Meaning | None:
        """Return what the first known message in ``text`` means."""
        data = text.encode("utf-8", "replace")
        found = next((phrase for phrase in self.phrases if phrase.pattern.search(data)), None)
        return self.explain(found.code) if found else None

    def _entry(self, entry: Mapping[str, Any]) -> Meaning:
        state = State(entry.get("state", "fault"))
        source = self._table["sources"][entry["source"]]
        advice = _text(entry, 1) or self._family_advice(entry["code"])
        return Meaning(entry["code"], True, state, _text(entry, 0) or message("unknown_code"), advice, source)

    def _family_advice(self, code: str) -> Said:
        families = self._table["families"]
        if code.isdecimal():
            return _text(families[f"acl{code[0]}"], 1) or message("unknown_fix")
        kind = "cann_internal" if code[2:3] == INTERNAL else "cann_user"
        return _text(families[kind], 0) or message("unknown_fix")

    def _err(self, code: str) -> Meaning:
        """Explain ERRxxyyy: xx is the module, yyy the kind."""
        source = self._table["sources"]["torch_npu"]
        module, kind = self._table["err_modules"].get(code[3:5]), self._table["err_kinds"].get(code[5:])
        if not module or not kind:
            return Meaning(
                code, False, State.WARNING, message("unknown_code"), message("unknown_fix"), source
            )
        meaning = message("err", module=module, meaning=_text(kind, 0))
        state = State(kind.get("state", "fault"))
        return Meaning(code, True, state, meaning, _text(kind, 1) or message("unknown_fix"), source)

    def _cann(self, code: str) -> Meaning:
        """Explain E?nnnn: ? is the module of CANN."""
        source = self._table["sources"]["cann"]
        module, internal = self._table["cann_modules"].get(code[1]), code[2] == INTERNAL
        if not module:
            return Meaning(
                code, False, State.WARNING, message("unknown_code"), message("unknown_fix"), source
            )
        key = "cann_inner_code" if internal else "cann_unknown_code"
        state = State.FAULT if internal else State.WARNING
        return Meaning(code, internal, state, message(key, module=module), self._family_advice(code), source)

    def _acl(self, code: str) -> Meaning:
        """Explain a number of aclError: its first digit is the kind."""
        family = self._table["families"][f"acl{code[0]}"]
        meaning = message("acl_unknown_code", kind=_text(family, 0))
        advice = self._family_advice(code)
        return Meaning(code, False, State.WARNING, meaning, advice, self._table["sources"]["aclerror"])


def _text(entry: Mapping[str, Any], index: int) -> Text | None:
    english, chinese = entry["en"], entry["zh"]
    return Text(english[index], chinese[index]) if index < len(english) else None


def _phrase(entry: Mapping[str, Any]) -> Phrase:
    needle = entry["needle"]
    pattern = entry.get("pattern") or re.escape(needle)
    return Phrase(entry["code"], needle.encode(), re.compile(pattern.encode()))


@lru_cache(maxsize=1)
def codes() -> Codes:
    """Return the table in this package."""
    return Codes(json.loads(TABLE.read_text(encoding="utf-8")))
