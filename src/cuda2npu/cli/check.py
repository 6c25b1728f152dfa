"""``cuda2npu check``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cuda2npu.cli import job, options

EXAMPLES = """\b
Examples:
  cuda2npu check .
  cuda2npu check train.py models/ --format json
  cuda2npu check . --ignore NPU5 --exclude third_party/
"""


@click.command(epilog=EXAMPLES, short_help="Say where CUDA is used; for hooks and CI.")
@click.argument("sources", metavar="PATH...", nargs=-1, required=True)
@options.format_of("text", "json")
@click.option("--strict", is_flag=True, help="Exit code 1 also for what is only good to know.")
@options.what_to_convert
def check(
    sources: tuple[str, ...],
    form: str,
    strict: bool,
    quiet: bool,
    report: Path | None,
    **flags: Any,
) -> int:
    """Say where CUDA is used, one line for each place; for hooks and CI. Nothing is written.

    Exit code: 0 if nothing is found; 1 if something would change, is left to a person, or a file
    failed; 2 for wrong usage.
    """
    from cuda2npu import config
    from cuda2npu.report.folder import dumps
    from cuda2npu.report.lines import lines, summary_line
    from cuda2npu.roots import given_roots
    from cuda2npu.writing import leave

    settings = config.settings(sources, flags)
    document = job.run(given_roots(sources), settings, leave, folder=report, quiet=quiet)
    if form == "json":
        click.echo(dumps(document), nl=False)
    else:
        for line in lines(document, settings.lang):
            click.echo(line)
        if not quiet:
            click.echo(summary_line(document, settings.lang), err=True)
    total = document["summary"]
    found = total["changed"] or total["failed"] or job.left_to_a_person(document)
    return 1 if found or (strict and total["sites"]) else 0
