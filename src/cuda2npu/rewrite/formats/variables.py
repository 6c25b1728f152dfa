"""Environment variables in files that aren't Python: renamed as in Python code, by the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cuda2npu.rewrite.environment_values import carries_over
from cuda2npu.rewrite.formats.text_file import TextFile

OTHER_VALUE = "NPU602"


class Place(NamedTuple):
    """Where the name of a variable stands, and the value that it is set to there, if it is."""

    name: str
    start: int
    value: str | None


def rename_variables(file: TextFile, places: Iterable[Place]) -> None:
    """Rename a variable wherever it stands in the file, if every value that it is set to carries over."""
    by_name: dict[str, list[Place]] = {}
    for place in {place.start: place for place in places}.values():
        by_name.setdefault(place.name, []).append(place)
    for name, here in by_name.items():
        found = file.catalog.rows.get(name)
        if found is None or found[0].codemod != "environment":
            continue
        rule, row = found
        if row.to and all(_may_carry_over(place) for place in here):
            for place in here:
                file.replace(rule.code, place.start, name, row.to)
            continue
        code = OTHER_VALUE if row.to else rule.code
        for place in here:
            if place.value is not None:
                file.report(code, place.start, place.start + len(name), note=row.note)


def _may_carry_over(place: Place) -> bool:
    """Whether a value carries over; one that is put together when the program starts may."""
    value = place.value
    return value is None or "$" in value or "`" in value or carries_over(place.name, value)
