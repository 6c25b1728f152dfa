"""Rules as a list, as a page to read, and as data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict

from cuda2npu.catalog.rules import Example, Rule
from cuda2npu.messages import say
from cuda2npu.report.model import Json
from cuda2npu.report.page import Page


def print_list(rules: Iterable[Rule], page: Page, lang: str = "en") -> None:
    """Print code, name, applicability and summary of each rule."""
    for rule in rules:
        page.line(_title(rule, lang), style="bold")
        page.paragraph(rule.summary.in_language(lang), indent=4)


def print_page(rule: Rule, page: Page, lang: str = "en") -> None:
    """Print everything about one rule."""
    page.line(_title(rule, lang), style="bold")
    page.paragraph(rule.summary.in_language(lang))
    for key, text in (("why", rule.why), ("advice", rule.advice)):
        if text.in_language(lang):
            page.line()
            page.line(say(key, lang), style="bold")
            page.paragraph(text.in_language(lang))
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


def as_json(rule: Rule, lang: str = "en") -> Json:
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
