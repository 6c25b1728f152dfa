"""Environment variables in files that aren't Python: renamed as in Python code, by the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable, NamedTuple

from cuda2npu.rewrite.environment_values import carries_over
from cuda2npu.rewrite.formats.text_file import TextFile

OTHER_VALUE = "NPU602"
LEFT = "NPU615"


class Place(NamedTuple):
    """Where the name of a variable stands, and the value that it is set to there, if it is."""

    name: str
    start: int
    value: str | None


def rename_variables(
    file: TextFile, places: Iterable[Place], is_followed: Callable[[str, set[int]], bool] | None = None
) -> None:
    """Rename a variable wherever it stands in the file, or nowhere.

    It stays if a value that it is set to doesn't carry over, or if one of its uses has to stay.

    :param is_followed: whether the given starts are all the uses that the file makes of the variable.
    """
    by_name: dict[str, list[Place]] = {}
    for place in {place.start: place for place in places}.values():
        by_name.setdefault(place.name, []).append(place)
    for name, here in by_name.items():
        found = file.catalog.rows.get(name)
        if found is None or found[0].codemod != "environment":
            continue
        rule, row = found
        starts = {place.start for place in here}
        if row.to and all(_may_carry_over(place) for place in here):
            is_kept = any(file.is_suppressed(rule.code, start) for start in starts)
            if not is_kept and (is_followed is None or is_followed(name, starts)):
                for place in here:
                    file.replace(rule.code, place.start, name, row.to)
                continue
            code, note = LEFT, None
        else:
            code, note = OTHER_VALUE if row.to else rule.code, row.note
        lines: set[int] = set()  # of export A=${A:-1} one finding is enough
        for place in here:
            line = file.text.rfind("\n", 0, place.start)
            if file.is_suppressed(rule.code, place.start):
                file.keep(rule.code, place.start, place.start + len(name))
            elif line in lines:
                file.dealt_with.append((place.start, place.start + len(name)))
            elif place.value is not None:
                file.report(code, place.start, place.start + len(name), note=note)
                lines.add(line)


def _may_carry_over(place: Place) -> bool:
    """Whether a value carries over; one that is put together when the program starts may."""
    value = place.value
    return value is None or "$" in value or "`" in value or carries_over(place.name, value)
