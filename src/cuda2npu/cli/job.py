"""What ``convert`` and ``check`` do alike: find the files, convert each, collect the report, sum it up."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import click

from cuda2npu.settings import Settings, UsageError

if TYPE_CHECKING:
    from cuda2npu.catalog.rules import Rule
    from cuda2npu.rewrite.change import FileResult
    from cuda2npu.roots import Root
    from cuda2npu.writing import Writer


def run(
    roots: Sequence[Root],
    settings: Settings,
    write: Writer,
    *,
    each: Callable[[FileResult], object] | None = None,
    folder: Path | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Convert everything below ``roots`` and return the report.

    :param each: called with every result, in order.
    :param folder: where report and patch are left.
    :raises UsageError: if a rule file or a pattern is wrong, or ``folder`` can't be written to.
    """
    from cuda2npu import project
    from cuda2npu.cli.progress import progress
    from cuda2npu.discover import Kind, discover
    from cuda2npu.messages import say
    from cuda2npu.report import folder as report_folder
    from cuda2npu.report.model import Report
    from cuda2npu.report.patch import file_patch
    from cuda2npu.roots import surroundings

    # So that what is wrong is one error now, and not one for every source.
    check_selection(settings, load_rules(settings.rules))
    if folder is not None:
        report_folder.prepare(folder)
    entries = list(discover(roots, settings.exclude, settings.lang))
    expected = sum(entry.kind is Kind.PYTHON or bool(entry.reason) for entry in entries)
    report = Report(settings.target)
    patches: list[bytes] = []
    index = project.index(chain(discover(surroundings(roots)), entries), settings.rules)
    results = project.convert(entries, settings, index, write)
    bar = progress(results, expected, say("converting", settings.lang), quiet)
    with closing(results), closing(bar):
        for result in bar:
            report.add(result)
            if folder is not None:
                patches.append(file_patch(result))
            if each is not None:
                each(result)
    document = report.document()
    if folder is not None:
        report_folder.write(folder, document, patches)
    return document


def load_rules(extra: Sequence[str]) -> Mapping[str, Rule]:
    """Return all rules by code.

    :param extra: paths of further rule files.
    :raises UsageError: if a rule file is wrong.
    """
    from cuda2npu.catalog.load import CatalogError, load_catalog

    try:
        return load_catalog(extra).rules
    except CatalogError as error:
        raise UsageError(f"rules: {error}") from None


def check_selection(settings: Settings, rules: Mapping[str, Rule]) -> None:
    """Refuse a selection that no rule answers to: it would find nothing, and look like success.

    :raises UsageError: for a code that isn't known. To ignore a family that has no rules yet is fine.
    """
    for option, codes in (("select", settings.select), ("ignore", settings.ignore)):
        for code in codes:
            family = option == "ignore" and re.fullmatch(r"NPU\d?", code)
            if not family and not any(rule.startswith(code) for rule in rules):
                raise UsageError(f"{option} {code}: there is no such rule; `cuda2npu rule` lists them")


def sum_up(
    document: dict[str, Any],
    settings: Settings,
    *,
    written: bool,
    quiet: bool = False,
    to_stderr: bool = False,
    places: Mapping[str, Path] | None = None,
    left_in: Sequence[str | Path] = (),
) -> None:
    """Print the summary; if ``quiet``, only what failed, to stderr.

    :param written: whether the changes were written, or only would be.
    :param places: message key -> path of what was left on disk.
    :param left_in: where what is left to a person is to be found.
    """
    from cuda2npu.report.lines import failures
    from cuda2npu.report.page import Page
    from cuda2npu.report.summary import print_summary

    if quiet:
        for line in failures(document, settings.lang):
            click.echo(line, err=True)
        return
    page = Page(sys.stderr if to_stderr else sys.stdout)
    check = " ".join(["cuda2npu check", *(shlex.quote(str(path)) for path in left_in)])
    print_summary(document, page, lang=settings.lang, written=written, places=places or {}, check=check)


def left_to_a_person(document: dict[str, Any]) -> bool:
    """Whether somebody has to look at something; what is merely good to know doesn't count."""
    total = document["summary"]
    return bool(total["offered"] or total["severity"]["blocker"] or total["severity"]["manual"])
