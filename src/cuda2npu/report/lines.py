"""The report as one line per place, for editors, hooks and CI logs."""

from __future__ import annotations

from collections.abc import Iterator

from cuda2npu.messages import say
from cuda2npu.report.model import Json


def lines(document: Json, lang: str = "en") -> Iterator[str]:
    """Yield ``path:line:column: RULE message`` for every change and finding, sorted by place.

    A file that failed has one line without a rule. What is kept is not mentioned.
    """
    for entry in sorted(document["files"], key=lambda entry: str(entry["path"])):
        if entry["status"] == "failed":
            yield f"{entry['path']}:1:1: {say('failed_line', lang, reason=entry['error'])}"
        places = [*entry["changes"], *entry["findings"]]
        for place in sorted(places, key=lambda place: (place["line"], place["column"], place["rule"])):
            yield f"{entry['path']}:{place['line']}:{place['column']}: {place['rule']} {_text(place, lang)}"


def failures(document: Json, lang: str = "en") -> Iterator[str]:
    """Yield a line for every file that failed."""
    for entry in document["files"]:
        if entry["status"] == "failed":
            yield f"{entry['path']}:1:1: {say('failed_line', lang, reason=entry['error'])}"


def summary_line(document: Json, lang: str = "en") -> str:
    """Return the whole report in one line of numbers."""
    total = document["summary"]
    person = sum(total["severity"].values())
    return say("checked", lang, **{**total, "person": person})


def _text(place: Json, lang: str) -> str:
    message: str = place["message"]
    if "severity" in place:
        return f"{say(place['severity'], lang)}: {message}"
    if not place["applied"]:
        return say("line_unsafe", lang, message=message)
    return message
