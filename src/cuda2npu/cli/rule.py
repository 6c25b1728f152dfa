"""``cuda2npu rule``."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from cuda2npu.cli import job, options
from cuda2npu.settings import Settings, UsageError

if TYPE_CHECKING:
    from cuda2npu.catalog.rules import Rule
    from cuda2npu.report.page import Page

EXAMPLES = """\b
Examples:
  cuda2npu rule
  cuda2npu rule NPU101 --lang zh
  cuda2npu rule --rules corp.toml --test
"""


@click.command(epilog=EXAMPLES, short_help="List the rules, or explain one.")
@click.argument("code", required=False)
@options.format_of("text", "json")
@options.rules
@click.option("--test", is_flag=True, help="Run the examples of --rules, or of the rule CODE.")
@options.language
def rule(code: str | None, form: str, test: bool, **flags: Any) -> int:
    """List the rules, or those whose codes begin with CODE, or explain the one with this CODE or name.

    Exit code: 0; 1 if an example fails with --test; 2 for wrong usage.
    """
    from cuda2npu import config
    from cuda2npu.report.page import Page
    from cuda2npu.report.rules import as_json, print_list, print_page

    settings = config.settings([os.curdir], flags)
    lang, known = settings.lang, job.load_rules(settings.rules)
    found = _find(code, known) if code is not None else list(known.values())
    page = Page(sys.stdout)
    one = code is not None and len(found) == 1
    if test:
        users = [each for each in known.values() if each.file]
        return _test(found if code is not None else users or found, settings, page)
    if form == "json":
        listed = [as_json(each, settings.target, lang) for each in found]
        click.echo(json.dumps(listed[0] if one else listed, indent=1))
    elif one:
        print_page(found[0], page, settings.target, lang)
    else:
        print_list(found, page, lang)
    return 0


def _test(rules: Sequence[Rule], settings: Settings, page: Page) -> int:
    from cuda2npu.messages import say
    from cuda2npu.rule_tests import failures

    failed = list(failures(rules, settings.rules, settings.lang))
    for failure in failed:
        page.line(
            say("test_failed", settings.lang, code=failure.code, number=failure.number, reason=failure.reason)
        )
        for line in failure.diff:
            page.line(line, indent=2)
    examples = sum(len(each.examples) for each in rules)
    page.line(say("test_sum", settings.lang, examples=examples, rules=len(rules), failed=len(failed)))
    return 1 if failed else 0


def _find(code: str, known: Mapping[str, Rule]) -> Sequence[Rule]:
    """Return the rule with this code or name, or those whose codes begin so, as ``--select`` takes them."""
    names = {name.upper(): each for each in known.values() for name in (each.code, each.name)}
    if code.upper() in names:
        return [names[code.upper()]]
    family = [each for each in known.values() if each.code.startswith(code.upper())]
    if family:
        return family
    close = difflib.get_close_matches(code.upper(), names, cutoff=0.5)
    meant = dict.fromkeys(f"{names[name].code} {names[name].name}" for name in close)
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    raise UsageError(f"rule: there is no {code}{hint} (`cuda2npu rule` lists them all)")
