"""``cuda2npu``: the group of all commands, and what they have in common at their end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from cuda2npu import __version__
from cuda2npu.cli.analyze import analyze
from cuda2npu.cli.capture import capture
from cuda2npu.cli.check import check
from cuda2npu.cli.compare import compare
from cuda2npu.cli.convert import convert
from cuda2npu.cli.doctor import doctor
from cuda2npu.cli.rule import rule
from cuda2npu.cli.run import run as run_command
from cuda2npu.cli.verify import verify
from cuda2npu.settings import UsageError

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM

EXAMPLES = """\b
Examples:
  cuda2npu analyze repo              says what it takes to move it
  cuda2npu convert repo              says what would change, writes nothing
  cuda2npu convert repo -o repo_npu  writes a converted copy with a report
  cuda2npu convert repo --in-place   rewrites the repository itself
  cuda2npu check repo                for hooks and CI: code 1 if CUDA is left
  cuda2npu rule NPU101               says what a rule does, and why
  cuda2npu run train.py              runs it on an NPU, real or simulated
  cuda2npu verify repo repo_npu ...  proves that it computes the same
  cuda2npu doctor                    checks this machine, says what to mend
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=EXAMPLES,
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="cuda2npu", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Rewrite PyTorch code from CUDA to Huawei Ascend NPUs.

    Every change can be reviewed, and no CUDA use is left unmentioned.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (analyze, convert, check, rule, run_command, verify, capture, compare, doctor):
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name or message that the terminal can't show is no fault
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _terminate)  # as an exception, so that unfinished files are removed
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    That is, beside those of the commands: 2 for wrong usage, after one line that says what is
    wrong; 130 after Ctrl-C.

    :param arguments: the words after ``cuda2npu``; by default those of this process.
    """
    try:
        # Without standalone mode a command's return value is its exit code.
        return cli.main(arguments, prog_name="cuda2npu", standalone_mode=False) or 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "cuda2npu"
        return _wrong(f"{error.format_message()} (see `{command} --help`)")
    except UsageError as error:
        return _wrong(str(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("cuda2npu: interrupted", err=True)
        return INTERRUPTED


def _wrong(message: str) -> int:
    click.echo("cuda2npu: " + " ".join(message.split()), err=True)
    return 2


def _terminate(signum: int, frame: FrameType | None) -> NoReturn:
    click.echo("cuda2npu: terminated", err=True)
    sys.exit(TERMINATED)


if __name__ == "__main__":
    main()
