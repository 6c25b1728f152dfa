"""The diagnosis as a page to read."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from cuda2npu import __version__
from cuda2npu.doctor.check import Check, Said, State, message
from cuda2npu.doctor.diagnosis import Diagnosis, Found, Log
from cuda2npu.report.page import Page

INDENT = 4
STYLES = {State.OK: "", State.WARNING: "yellow", State.FAULT: "bold red"}


def print_diagnosis(diagnosis: Diagnosis, page: Page, lang: str = "en") -> None:
    """Print every check in a line, and what is wrong with its advice."""
    page.line(say("title", lang, version=__version__), style="bold")
    widest = max((cell_len(check.name) for check in diagnosis.checks), default=0)
    for check in diagnosis.checks:
        _print_check(check, widest, page, lang)
    if diagnosis.log:
        page.line()
        _print_log(diagnosis.log, page, lang)
    page.line()
    page.paragraph(say("table", lang, source=diagnosis.table.source, date=diagnosis.table.date))
    if not diagnosis.on_ascend:
        page.paragraph(say("next_simulator", lang))
    page.line(_summary(diagnosis, lang), style=STYLES[diagnosis.state] or "bold")


def say(key: str, lang: str, **values: object) -> str:
    """Return a message in a language."""
    return message(key, **values).in_language(lang)


def _summary(diagnosis: Diagnosis, lang: str) -> str:
    states = list(diagnosis.states)
    if diagnosis.state is State.OK:
        return say("summary_ok", lang)
    return say("summary", lang, faults=states.count(State.FAULT), warnings=states.count(State.WARNING))


def _state(state: State, lang: str) -> str:
    width = max(cell_len(say(each.value, lang)) for each in State)
    return set_cell_size(say(state.value, lang), width)


def _print_check(check: Check, widest: int, page: Page, lang: str) -> None:
    label = f"{_state(check.state, lang)}  {set_cell_size(check.name, widest)}  "
    if check.state is State.OK:
        page.paragraph(check.found.in_language(lang), indent=cell_len(label), label=label)
        return
    page.line(label.rstrip(), style=STYLES[check.state])
    page.paragraph(check.found.in_language(lang), indent=INDENT)
    if check.advice:
        _print_advice(check.advice, page, lang)


def _print_advice(advice: Said, page: Page, lang: str) -> None:
    """Print the advice; its commands are never broken, so that they can be copied."""
    for line in advice.in_language(lang).splitlines():
        if line.startswith("$ "):
            page.line(line, indent=INDENT + 2)
        elif line:
            page.paragraph(line, indent=INDENT + 2, label=" " * INDENT + "> ")


def _print_log(log: Log, page: Page, lang: str) -> None:
    key = "log" if log.codes else "log_none"
    page.paragraph(say(key, lang, path=log.path, lines=log.lines, codes=len(log.codes)))
    if len(log.codes) > 1:
        page.paragraph(say("log_first", lang))
    for found in log.codes:
        _print_code(found, page, lang)


def _print_code(found: Found, page: Page, lang: str) -> None:
    hit, meaning = found.hit, found.meaning
    counted = say("log_once" if hit.count == 1 else "log_count", lang, count=hit.count, line=hit.line)
    page.line(f"{_state(meaning.state, lang)}  {hit.code}", style=STYLES[meaning.state])
    page.paragraph(f"{meaning.meaning.in_language(lang)} ({counted})", indent=INDENT)
    _print_advice(meaning.advice, page, lang)
