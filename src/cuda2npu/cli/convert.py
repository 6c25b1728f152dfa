"""``cuda2npu convert``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cuda2npu.cli import job, options
from cuda2npu.settings import Settings, UsageError

if TYPE_CHECKING:
    from cuda2npu.rewrite.change import FileResult
    from cuda2npu.writing import Writer

EXAMPLES = """\b
Examples:
  cuda2npu convert repo --diff | less
  cuda2npu convert repo -o repo_npu --torch 2.6.0 --soc ascend910_93
  cuda2npu convert train.py models/ --in-place --report report
  cuda2npu convert - < train.py > train_npu.py
"""


@click.command(epilog=EXAMPLES, short_help="Convert files or folders, or show what would change.")
@click.argument("sources", metavar="SRC...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write a converted copy there."
)
@click.option("--in-place", is_flag=True, help="Rewrite the files themselves.")
@click.option("--diff", is_flag=True, help="Print the changes as a patch.")
@click.option("--force", is_flag=True, help="Write into an OUT that isn't empty.")
@click.option("--strict", is_flag=True, help="Exit code 1 if anything is left to a person.")
@options.what_to_convert
def convert(
    sources: tuple[str, ...],
    output: Path | None,
    in_place: bool,
    diff: bool,
    force: bool,
    strict: bool,
    quiet: bool,
    report: Path | None,
    **flags: Any,
) -> int:
    """Convert files or folders; without -o, --in-place or --diff, only say what would change.

    -o makes a complete copy of SRC: what isn't Python is copied as it is; version control, caches
    and virtual environments are left out. OUT/cuda2npu-report holds report.json and changes.patch.
    SRC may be - for one file from stdin, which goes to stdout.

    Exit code: 0; 1 if a file failed, or with --strict if anything is left to a person; 2 for wrong
    usage.
    """
    from cuda2npu import config

    if (output is not None) + in_place + diff > 1:
        raise UsageError("convert: only one of -o, --in-place and --diff")
    if force and output is None:
        raise UsageError("convert: --force goes with -o OUT")
    if "-" in sources:
        if len(sources) > 1 or output is not None or in_place or diff or report is not None:
            raise UsageError("convert: - stands alone: one file from stdin to stdout")
        document = _filter(config.settings(["."], flags), quiet)
    elif output is not None:
        document = _copy(sources, config.settings(sources, flags), output, force, report, quiet)
    else:
        settings = config.settings(sources, flags)
        document = _convert_where_it_is(sources, settings, in_place, diff, report, quiet)
    failed = document["summary"]["failed"] or (strict and job.left_to_a_person(document))
    return 1 if failed else 0


def _copy(
    sources: Sequence[str], settings: Settings, output: Path, force: bool, report: Path | None, quiet: bool
) -> dict[str, Any]:
    from cuda2npu.discover import REPORT_FOLDER
    from cuda2npu.report.folder import PATCH, REPORT
    from cuda2npu.roots import named_roots
    from cuda2npu.writing import Copy, prepare

    roots = named_roots(sources)
    prepare(output, roots, force)
    folder = report or output / REPORT_FOLDER
    try:
        with closing(Copy(output)) as write:
            document = job.run(roots, settings, write, folder=folder, quiet=quiet)
    except KeyboardInterrupt:
        click.echo(f"cuda2npu: {output} is incomplete; convert again with --force", err=True)
        raise
    places = {"copy_at": output, "report_at": folder / REPORT, "patch_at": folder / PATCH}
    job.sum_up(document, settings, written=True, quiet=quiet, places=places, left_in=[output])
    return document


def _convert_where_it_is(
    sources: Sequence[str], settings: Settings, in_place: bool, diff: bool, report: Path | None, quiet: bool
) -> dict[str, Any]:
    from cuda2npu.report.folder import PATCH, REPORT
    from cuda2npu.roots import given_roots, named_roots
    from cuda2npu.writing import leave, rewrite_in_place

    one_folder = len(sources) == 1 and Path(sources[0]).is_dir()
    write: Writer = rewrite_in_place if in_place else leave
    document = job.run(
        named_roots(sources) if one_folder else given_roots(sources),
        settings,
        write,
        each=_print_patch if diff else None,
        folder=report,
        quiet=quiet,
    )
    places = {"report_at": report / REPORT, "patch_at": report / PATCH} if report else {}
    job.sum_up(
        document, settings, written=in_place, quiet=quiet, to_stderr=diff, places=places, left_in=sources
    )
    return document


def _print_patch(result: FileResult) -> None:
    from cuda2npu.report.patch import file_patch

    sys.stdout.buffer.write(file_patch(result))


def _filter(settings: Settings, quiet: bool) -> dict[str, Any]:
    """Convert stdin to stdout; what fails is passed on as it is."""
    from cuda2npu import project
    from cuda2npu.report.model import Report
    from cuda2npu.rewrite.change import Status

    job.check_selection(settings, job.load_rules(settings.rules))
    data = sys.stdin.buffer.read()
    result = project.convert_one(data, "stdin.py", settings)
    sys.stdout.buffer.write(result.data if result.status is Status.CHANGED else data)
    report = Report(settings.target)
    report.add(result)
    document = report.document()
    job.sum_up(document, settings, written=True, quiet=quiet, to_stderr=True, left_in=["FILE"])
    return document
