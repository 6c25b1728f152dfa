"""What the tests of the command line share."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cuda2npu.cli.main import run

Write = Callable[[Path, Mapping[str, "str | bytes"]], Path]


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str
    raw: bytes = b""


@pytest.fixture
def write() -> Write:
    """Write files into a folder and return it; text is written as UTF-8, newlines as they are."""

    def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return write


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command in this process."""

    def command(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        code = run([str(argument) for argument in arguments])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode(errors="replace"), err.decode(errors="replace"), out)

    return command


@pytest.fixture
def process() -> Callable[..., subprocess.Popen[str]]:
    """Start a command as a process, as a user does."""

    def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "cuda2npu", *map(str, arguments)]
        # A session of its own, so that an interrupt reaches its workers and not these tests; and a
        # shell that runs the tests in the background lets them ignore interrupts.
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            env={**os.environ, "PYTHONUTF8": "1"},
            **options,  # type: ignore[call-overload]
        )

    return start
