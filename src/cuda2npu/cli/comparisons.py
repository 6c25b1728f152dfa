"""What ``compare`` and ``verify`` do with their results: the report, the text, the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cuda2npu.messages import say
from cuda2npu.settings import Target, UsageError

if TYPE_CHECKING:
    from cuda2npu.verify.comparison import Comparison, Side

SAME, DIFFERENT, UNKNOWN = 0, 1, 2


def classed(found: Sequence[Comparison], target: Target) -> list[Comparison]:
    """Return the comparisons with what becomes of the candidate's operators on ``target``."""
    from cuda2npu.verify.operators.classes import classify, with_classes

    def side(each: Side) -> Side:
        if not each.inventory:
            return each
        operators = classify(each.inventory, target)
        return replace(each, inventory=with_classes(each.inventory, target, operators))

    return [replace(each, candidate=side(each.candidate)) for each in found]


def write(found: Sequence[Comparison], folder: Path, lang: str, command: str) -> list[Path]:
    """Leave the report in ``folder``, that of several processes in a folder for each; return the pages.

    :raises UsageError: if it can't be written.
    """
    from cuda2npu.verify.report import PAGE, write_report

    folders = [folder / f"rank-{rank}" for rank in range(len(found))] if len(found) > 1 else [folder]
    try:
        for each, comparison in zip(folders, found):
            write_report(comparison, each, lang)
    except OSError as error:
        raise UsageError(f"{command}: -o {folder}: {error.strerror}") from None
    return [each / PAGE for each in folders]


def show(found: Sequence[Comparison], form: str, lang: str) -> None:
    """Print the comparisons as text, or as JSON: one document, of several processes a list."""
    from cuda2npu.report.page import Page
    from cuda2npu.verify.compare.text import show as show_text
    from cuda2npu.verify.report.strict import strict

    if form == "json":
        documents = [strict(comparison.as_json()) for comparison in found]
        click.echo(json.dumps(documents[0] if len(found) == 1 else documents, indent=1, allow_nan=False))
        return
    page = Page(sys.stdout)
    for rank, comparison in enumerate(found):
        if len(found) > 1:
            page.line(say("rank_verdict", lang, rank=rank, verdict=comparison.verdict.value), "bold")
    for rank, comparison in enumerate(found):
        if len(found) > 1:
            page.line()
            page.line(f"rank {rank}", "bold")
        show_text(comparison, page, lang)


def exit_code(found: Sequence[Comparison]) -> int:
    """Return 0 if all agree, 1 if one doesn't, 2 if that can't be said."""
    from cuda2npu.verify.comparison import Verdict

    verdicts = {comparison.verdict for comparison in found}
    if Verdict.FAIL in verdicts:
        return DIFFERENT
    return UNKNOWN if Verdict.INCOMPARABLE in verdicts else SAME
