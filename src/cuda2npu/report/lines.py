"""The report as one line per place, for editors, hooks and CI logs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuda2npu.messages import say
from cuda2npu.report.model import Json

_MOST_CHARACTERS = 60


def lines(document: Json, lang: str = "en") -> Iterator[str]:
    """Yield ``path:line:column: RULE message`` for every change and finding, sorted by place.

    A file that failed has one line without a rule. What is kept is not mentioned.
    """
    for entry in sorted(document["files"], key=lambda entry: str(entry["path"])):
        if entry["status"] == "failed":
            yield f"{_name(entry)}:1:1: {say('failed_line', lang, reason=entry['error'])}"
        places = [*entry["changes"], *entry["findings"]]
        for place in sorted(places, key=_order):
            cell = f":cell {place['cell']}" if "cell" in place else ""
            where = f"{_name(entry)}{cell}:{place['line']}:{place['column']}"
            yield f"{where}: {place['rule']} {_text(place, lang)}"


def _name(entry: Json) -> str:
    """Return the path of a file on one line, whatever characters are in it."""
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", lambda match: repr(match[0])[1:-1], str(entry["path"]))


def _order(place: Json) -> tuple[int, int, int, str]:
    return place.get("cell", 0), place["line"], place["column"], place["rule"]


def failures(document: Json, lang: str = "en") -> Iterator[str]:
    """Yield a line for every file that failed."""
    for entry in document["files"]:
        if entry["status"] == "failed":
            yield f"{_name(entry)}:1:1: {say('failed_line', lang, reason=entry['error'])}"


def summary_line(document: Json, lang: str = "en") -> str:
    """Return the whole report in one line of numbers."""
    total = document["summary"]
    severity = total["severity"]
    person = severity["blocker"] + severity["manual"]
    return say("checked", lang, **{**total, "person": person, "info": severity["info"]})


def _text(place: Json, lang: str) -> str:
    message = str(place["message"]).rstrip(".。")  # a colon follows
    if "severity" in place:
        severity = say(place["severity"], lang)
        line = say("line_finding", lang, severity=severity, message=message, token=_short(place["token"]))
        advice = " ".join(place["advice"].split())
        return say("line_advice", lang, line=line, advice=advice) if advice else line
    before, after = _short(place["before"]), _short(place["after"])
    key = "line_change" if before and after else "line_insert" if after else "line_remove"
    line = say(key, lang, message=message, before=before, after=after)
    return line if place["applied"] else say("line_unsafe", lang, message=line)


def _short(text: str) -> str:
    """Return the first line of a piece of code, cut off where it is long.

    The comma that an argument is added behind, and the line end after that, say nothing.
    """
    first = (text.strip(", \t\r\n").splitlines() or [""])[0]
    return first if len(first) <= _MOST_CHARACTERS else f"{first[:_MOST_CHARACTERS]}…"
