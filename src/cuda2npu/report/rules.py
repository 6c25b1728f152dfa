"""Rules as a list, as a page to read, and as data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict

from cuda2npu.catalog.rules import Example, Row, Rule
from cuda2npu.messages import say
from cuda2npu.report.model import Json
from cuda2npu.report.page import Page
from cuda2npu.rewrite.formats.requirements import filled
from cuda2npu.settings import Target

MOST_ROWS = 20


def print_list(rules: Iterable[Rule], page: Page, lang: str = "en") -> None:
    """Print code, name, applicability and summary of each rule."""
    for rule in rules:
        page.line(_title(rule, lang), style="bold")
        page.paragraph(rule.summary.in_language(lang), indent=4)


def print_page(rule: Rule, page: Page, target: Target, lang: str = "en") -> None:
    """Print everything about one rule; of a long table the first rows.

    :param target: whose versions stand in what there is to do.
    """
    page.line(_title(rule, lang), style="bold")
    page.paragraph(rule.summary.in_language(lang))
    for key, text in (("why", rule.why), ("advice", rule.advice)):
        if text.in_language(lang):
            page.line()
            page.line(say(key, lang), style="bold")
            page.paragraph(text.in_language(lang))
    if rule.rows:
        page.line()
        page.line(say("rows", lang), style="bold")
        rows = rule.rows[:MOST_ROWS]
        notes = [_note(rule, row, target, lang) for row in rows]
        for row, note, following in zip(rows, notes, [*notes[1:], ""]):
            page.line(_row(row), indent=2)
            if note != following:  # rows with the same one stand together
                page.paragraph(note, indent=6)
        if len(rule.rows) > MOST_ROWS:
            page.line(say("more_rows", lang, count=len(rule.rows) - MOST_ROWS, code=rule.code), indent=2)
    for number, example in enumerate(rule.examples):
        page.line()
        if number == 0:
            page.line(say("example", lang), style="bold")
        for line in _example(example, lang):
            page.line(line, indent=2 if line else 0)
    page.line()
    page.line(say("sources", lang), style="bold")
    for source in rule.sources:
        page.paragraph(source, indent=2, label="- ")


def _title(rule: Rule, lang: str) -> str:
    off = "" if rule.default else f", {say('off_by_default', lang)}"
    return f"{rule.code} {rule.name} ({rule.applicability.value}{off})"


def _row(row: Row) -> str:
    """Return in one line what a row is about, and what takes its place."""
    conditions = [f"torch_npu {row.torch_npu}" if row.torch_npu else "", *row.soc, row.state]
    known = ", ".join(condition for condition in conditions if condition)
    return row.name + (f" -> {row.to}" if row.to else "") + (f" ({known})" if known else "")


def _note(rule: Rule, row: Row, target: Target, lang: str) -> str:
    filled_in = rule.codemod == "torch_requirement"  # only these leave places for versions
    note = filled(row.note, target) if filled_in else row.note
    return note.in_language(lang)


def as_json(rule: Rule, target: Target, lang: str = "en") -> Json:
    """Return the rule as data; of an example, what it says."""
    return {
        "code": rule.code,
        "name": rule.name,
        "applicability": rule.applicability.value,
        "severity": rule.severity.value,
        "default": rule.default,
        "summary": rule.summary.in_language(lang),
        "why": rule.why.in_language(lang),
        "advice": rule.advice.in_language(lang),
        "rows": [
            {
                "name": row.name,
                "to": row.to,
                "torch_npu": row.torch_npu,
                "soc": list(row.soc),
                "state": row.state,
                "note": _note(rule, row, target, lang),
            }
            for row in rule.rows
        ],
        "examples": [
            {key: value for key, value in asdict(example).items() if value != getattr(Example, key)}
            for example in rule.examples
        ],
        "sources": list(rule.sources),
    }


def _example(example: Example, lang: str) -> Iterable[str]:
    """Yield the lines of an example: a diff, or code that stays and what is said about it."""
    conditions = [example.file, f"torch {example.torch}" if example.torch else "", example.soc]
    conditions.append(say("only_unsafe", lang) if example.unsafe else "")
    conditions.append(f"--interpolate {example.interpolate}" if example.interpolate else "")
    if not example.after:
        conditions.append(say("is_kept" if example.kept else "is_reported", lang))
    if any(conditions):
        yield "# " + ", ".join(condition for condition in conditions if condition)
    for line in difflib.ndiff(example.source.splitlines(), example.expected.splitlines()):
        if not line.startswith("?"):  # ndiff's marks below the characters that differ
            yield line.rstrip()
