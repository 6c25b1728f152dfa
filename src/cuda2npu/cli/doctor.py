"""``cuda2npu doctor``."""

from __future__ import annotations

import click

from cuda2npu.cli import options

EXAMPLES = """\b
Examples:
  cuda2npu doctor
  cuda2npu doctor --log train.log --lang zh
  cuda2npu doctor --format json --log - < rank0.log
"""


@click.command(epilog=EXAMPLES, short_help="Check torch, torch_npu, CANN, driver; explain error codes.")
@click.option("--log", metavar="FILE", help="Explain the error codes in this log, too; - reads stdin.")
@options.format_of("text", "json")
@options.language
def doctor(log: str | None, form: str, lang: str | None) -> int:
    """Check whether this machine can run converted programs, and say how to mend what can't.

    torch, torch_npu, CANN, driver, Python, numpy and environment variables are compared with the
    compatibility table; torch is imported in a child process only.

    Exit code: 0 if there is no fault; 1 if there is one, here or in the log; 2 for wrong usage.
    """
    import json
    import sys

    from cuda2npu.doctor import diagnosis
    from cuda2npu.doctor.check import State
    from cuda2npu.doctor.environment import look
    from cuda2npu.doctor.sources import scan_log

    lang = lang or "en"
    found = scan_log(log) if log else None  # before anything slow, so that a wrong name is told at once
    result = diagnosis.examine(look(), found)
    if form == "json":
        click.echo(json.dumps(diagnosis.document(result, lang), indent=1, ensure_ascii=False))
    else:
        from cuda2npu.doctor.output import print_diagnosis
        from cuda2npu.report.page import Page

        print_diagnosis(result, Page(sys.stdout), lang)
    return 1 if result.state is State.FAULT else 0
