"""``cuda2npu compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cuda2npu.cli import comparisons, options
from cuda2npu.cli.packages import need_packages
from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH, Target, UsageError

if TYPE_CHECKING:
    from cuda2npu.verify.store import Capture

EXAMPLES = """\b
Examples:
  cuda2npu compare gpu npu
  cuda2npu compare golden npu --benchmark gpu -o comparison
  cuda2npu compare gpu npu --criterion guide --format json
"""
_FOLDER = click.Path(path_type=Path)


@click.command(epilog=EXAMPLES, short_help="Compare two captures of a model.")
@click.argument("reference", type=_FOLDER)
@click.argument("candidate", type=_FOLDER)
@click.option(
    "--benchmark", type=_FOLDER, metavar="DIR", help="A run whose errors are acceptable, as on the GPU."
)
@click.option("--repeat", type=_FOLDER, metavar="DIR", help="The candidate's run once more: shows its noise.")
@click.option(
    "--criterion",
    type=click.Choice(("table", "guide")),
    default="table",
    help="guide: cosine > 0.99 and largest error < 0.01, as in the migration guides.",
)
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="Leave an HTML page, JSON and CSV there.")
@options.target
@options.format_of("text", "json")
@options.language
@click.option("--quiet", "-q", is_flag=True, help="Say nothing; the exit code tells.")
def compare(
    reference: Path,
    candidate: Path,
    benchmark: Path | None,
    repeat: Path | None,
    criterion: str,
    output: Path | None,
    torch: str | None,
    soc: str | None,
    form: str,
    lang: str | None,
    quiet: bool,
) -> int:
    """Say whether CANDIDATE computes what REFERENCE computes, and where they part.

    Both are folders that `cuda2npu capture` wrote. The exit code is 0 if they agree, 1 if not, 2 if
    that can't be said.
    """
    need_packages("compare")
    from cuda2npu.verify.compare.compare import compare as compare_captures
    from cuda2npu.verify.store import CaptureError

    language = lang or "en"
    chosen = Target(torch or DEFAULT_TORCH, soc or DEFAULT_SOC)  # what the operators are judged for
    try:
        sides = [_open(folder) for folder in (reference, candidate, benchmark, repeat)]
        ranks = _same_ranks(sides, (reference, candidate, benchmark, repeat))
        found = [
            compare_captures(
                sides[0][rank],
                sides[1][rank],
                benchmark=sides[2][rank] if sides[2] else None,
                repeat=sides[3][rank] if sides[3] else None,
                criterion=criterion,
            )
            for rank in range(ranks)
        ]
    except CaptureError as error:
        raise UsageError(f"compare: {error}") from None
    found = comparisons.classed(found, chosen)
    if output is not None:
        comparisons.write(found, output, language, "compare")
    if not quiet:
        comparisons.show(found, form, language)
    return comparisons.exit_code(found)


def _open(folder: Path | None) -> list[Capture]:
    from cuda2npu.verify.store import open_captures

    return [] if folder is None else open_captures(folder)


def _same_ranks(sides: list[list[Capture]], folders: tuple[Path | None, ...]) -> int:
    ranks = len(sides[0])
    for captures, folder in zip(sides, folders):
        if captures and len(captures) != ranks:
            raise UsageError(
                f"compare: {folder} is of {len(captures)} processes, {folders[0]} of {ranks}: "
                "capture both with the same --nproc"
            )
    return ranks
