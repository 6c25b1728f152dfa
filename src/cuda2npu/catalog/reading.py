"""A ``[[rule]]`` table of TOML read into a frozen rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.catalog.rules import STATES, Example, Row, Rule, Text
from cuda2npu.catalog.versions import holds
from cuda2npu.settings import SOCS


def read_rule(table: Mapping[str, Any], notes: Mapping[str, Text], file: str) -> Rule:
    """Return the rule of a ``[[rule]]`` table whose keys have been checked.

    :param notes: the texts that rows name.
    :param file: where a rule of the user's stands; "" for ours.
    :raises ValueError: if a value is wrong.
    """
    return Rule(
        code=table["code"],
        name=table["name"],
        codemod=table["codemod"],
        applicability=Applicability(table["applicability"]),
        severity=Severity(table.get("severity", "manual")),
        summary=_text(table, "summary"),
        why=_text(table, "why"),
        advice=_text(table, "advice"),
        sources=tuple(table["sources"]),
        examples=tuple(Example(**example) for example in table["example"]),
        rows=tuple(
            _row(name, row, notes)
            for name, found in table.get("rows", {}).items()
            for row in (found if isinstance(found, list) else [found])
        ),
        default=table.get("default", True),
        words=_words(table, all_rows=bool(file)),
        pattern=_pattern(table),
        file=file,
    )


def _words(table: Mapping[str, Any], all_rows: bool) -> frozenset[str]:
    """Return the words of a rule; ``words = true``, or ``all_rows``, takes the last name of each row."""
    words = table.get("words", False)
    listed = frozenset() if isinstance(words, bool) else frozenset(words)
    if words is not True and not all_rows:
        return listed
    return listed | {name.partition("(")[0].rpartition(".")[2] for name in table.get("rows", {})}


def _pattern(table: Mapping[str, Any]) -> str:
    pattern: str = table.get("pattern", "")
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise ValueError(f"pattern: {error}") from None
    return pattern


def _text(table: Mapping[str, Any], key: str) -> Text:
    return Text(table.get(key, ""), table.get(f"{key}_zh", ""))


def _socs(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    socs = tuple(row.get("soc", ()))
    if unknown := set(socs) - set(SOCS):
        raise ValueError(f"{name}: unknown chip {', '.join(sorted(unknown))}; one of {', '.join(SOCS)}")
    return socs


def _state(name: str, row: Mapping[str, Any]) -> str:
    state: str = row.get("state", "")
    if state and state not in STATES:
        raise ValueError(f"{name}: unknown state {state!r}; one of {', '.join(STATES)}")
    return state


def _row(name: str, row: Mapping[str, Any], notes: Mapping[str, Text]) -> Row:
    note = row.get("note")
    if note is not None and note not in notes:
        raise ValueError(f"{name}: there is no note {note!r} in this file")
    holds(row.get("torch_npu", ""), (2, 1))  # find an unreadable condition now, not when it is used
    return Row(
        name=name,
        to=row.get("to", ""),
        torch_npu=row.get("torch_npu", ""),
        keywords=row.get("keywords", {}),
        positional={int(index): keyword for index, keyword in row.get("positional", {}).items()},
        lacks=tuple(row.get("lacks", ())),
        unless=tuple(row.get("unless", ())),
        needs=row.get("needs", ""),
        soc=_socs(name, row),
        dtypes=tuple(row.get("dtypes", ())),
        op=row.get("op", ""),
        state=_state(name, row),
        note=notes[note] if note else Text(),
    )
