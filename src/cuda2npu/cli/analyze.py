"""``cuda2npu analyze``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from cuda2npu.cli import job, options
from cuda2npu.settings import UsageError

EXAMPLES = """\b
Examples:
  cuda2npu analyze repo
  cuda2npu analyze repo --format markdown -o analysis.md
  cuda2npu analyze repo --torch 2.6.0 --soc ascend310p --format json
"""


@click.command(epilog=EXAMPLES, short_help="Say what it takes to move a repository.")
@click.argument("sources", metavar="PATH...", nargs=-1, required=True)
@options.format_of("text", "json", "markdown")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there.")
@options.target
@options.selection
@options.paths_and_rules
def analyze(sources: tuple[str, ...], form: str, output: Path | None, quiet: bool, **flags: Any) -> int:
    """Say what it takes to move a repository to NPUs, before anything is converted.

    How much converts by itself, what won't run, which packages have nothing for Ascend, operators at
    risk, CUDA sources, and what to do next. Nothing is run, and nothing is written but FILE.

    Exit code: 0; 1 if a file failed; 2 for wrong usage.
    """
    from cuda2npu import config
    from cuda2npu.catalog.load import load_catalog_for
    from cuda2npu.discover import discover
    from cuda2npu.inventory import take
    from cuda2npu.report.analysis import analysis
    from cuda2npu.report.analysis_page import blocks
    from cuda2npu.report.blocks import markdown, print_text
    from cuda2npu.report.folder import dumps
    from cuda2npu.report.page import Page
    from cuda2npu.roots import given_roots, named_roots
    from cuda2npu.writing import leave

    if output is not None and (output.is_dir() or not output.absolute().parent.is_dir()):
        raise UsageError(f"analyze: -o {output}: give a file in a folder that exists")
    settings = config.settings(sources, flags)
    one_folder = len(sources) == 1 and Path(sources[0]).is_dir()
    roots = named_roots(sources) if one_folder else given_roots(sources)
    document = job.run(roots, settings, leave, quiet=quiet)
    catalog = load_catalog_for(settings.target, settings.rules)
    inventory = take(discover(roots, settings.exclude), catalog, settings.lang)
    origins = {rule.code: rule.file for rule in catalog.rules.values() if rule.file}
    result = analysis(document, inventory, sources, settings.lang, flags["rules"] or (), origins)
    with _opened(output) as file:
        if form == "json":
            file.write(dumps(result))
        elif form == "markdown":
            file.write(markdown(blocks(result, settings.lang)))
        else:
            print_text(blocks(result, settings.lang), Page(file))
    return 1 if document["summary"]["failed"] else 0


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Give the file to write to: stdout, or ``output``, which is replaced when all is written."""
    from cuda2npu.writing import replacing

    if output is None:
        yield sys.stdout
        return
    try:
        with replacing(output) as temporary, temporary.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise UsageError(f"analyze: {output} can't be written: {error.strerror}") from None
