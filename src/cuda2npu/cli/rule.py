"""``cuda2npu rule``."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from cuda2npu.cli import job, options
from cuda2npu.settings import UsageError

if TYPE_CHECKING:
    from cuda2npu.catalog.rules import Rule

EXAMPLES = """\b
Examples:
  cuda2npu rule
  cuda2npu rule NPU101 --lang zh
"""


@click.command(epilog=EXAMPLES, short_help="List the rules, or explain one.")
@click.argument("code", required=False)
@options.format_of("text", "json")
@options.rules
@options.language
def rule(code: str | None, form: str, rules: Sequence[str] | None, lang: str | None) -> int:
    """List the rules, or explain the one with this CODE or name."""
    from cuda2npu.report.page import Page
    from cuda2npu.report.rules import as_json, print_list, print_page

    lang = lang or "en"
    known = job.load_rules(rules or ())
    if code is None:
        if form == "json":
            click.echo(json.dumps([as_json(each, lang) for each in known.values()], indent=1))
        else:
            print_list(known.values(), Page(sys.stdout), lang)
        return 0
    found = _find(code, known)
    if form == "json":
        click.echo(json.dumps(as_json(found, lang), indent=1))
    else:
        print_page(found, Page(sys.stdout), lang)
    return 0


def _find(code: str, known: Mapping[str, Rule]) -> Rule:
    names = {name.upper(): each for each in known.values() for name in (each.code, each.name)}
    if code.upper() in names:
        return names[code.upper()]
    close = difflib.get_close_matches(code.upper(), names, cutoff=0.5)
    meant = dict.fromkeys(f"{names[name].code} {names[name].name}" for name in close)
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    raise UsageError(f"rule: there is no {code}{hint} (`cuda2npu rule` lists them all)")
