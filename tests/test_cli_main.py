from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cuda2npu import __version__

SOURCE = "import torch\n\nx = torch.ones(1).cuda()\n"


def test_version(cli):
    assert cli("--version").out == f"cuda2npu {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [(), ("analyze",), ("convert",), ("check",), ("rule",), ("doctor",)], ids=" ".join
)
def test_help_is_readable_in_80_columns_and_has_examples(cli, arguments):
    ran = cli(*arguments, "--help")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "Examples:\n    cuda2npu " in ran.out


def test_without_a_command_there_is_help(cli):
    assert cli().out == cli("--help").out


def test_an_unknown_command_is_one_line(cli):
    ran = cli("konvert")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "konvert" in ran.err


def test_starting_imports_nothing_heavy():
    heavy = ("libcst", "rich", "pathspec", "multiprocessing", "cuda2npu.catalog", "tomllib", "tomli")
    code = f"import sys, cuda2npu.cli.main; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_stdin_and_stdout_of_a_process():
    command = [sys.executable, "-m", "cuda2npu", "convert", "-", "-q"]
    ran = subprocess.run(command, input=SOURCE.encode(), capture_output=True, check=True)
    assert b"torch.ones(1).npu()\n" in ran.stdout


def test_a_terminal_that_cannot_show_every_character(tmp_path, write):
    write(tmp_path, {"模型.py": SOURCE})
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "cuda2npu", "check", "模型.py", "--lang", "zh"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert (ran.returncode, b"Traceback" in ran.stderr) == (1, False)
    assert ran.stdout.startswith(rb"\u6a21\u578b.py:2:1: ")


def test_a_reader_that_has_seen_enough(tmp_path, write, process):
    src = write(
        tmp_path, {f"f{n}.py": "import torch\n" + "x = torch.ones(1).cuda()\n" * 500 for n in range(20)}
    )
    running = process("convert", src, "--diff", "-q", "-j", 1)
    running.stdout.readline()
    running.stdout.close()
    assert "Traceback" not in running.stderr.read()
    assert running.wait(60) == 1


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_a_terminal_only(tmp_path, write, quiet):
    src = write(tmp_path, {"a.py": SOURCE})
    terminal, other = os.openpty()
    command = [sys.executable, "-m", "cuda2npu", "convert", src, *(["--quiet"] if quiet else [])]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=other, env={**os.environ, "TERM": "xterm"})
    os.close(other)
    os.set_blocking(terminal, False)
    try:
        shown = os.read(terminal, 10_000)
    except OSError:  # the other end is closed, and nothing was written
        shown = b""
    os.close(terminal)
    assert ran.returncode == 0
    assert (b"converting" in shown, b"%" in shown) == (not quiet, False)
    assert b"converting" not in ran.stdout
