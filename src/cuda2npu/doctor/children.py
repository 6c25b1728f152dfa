"""Questions to other programs, which may hang, crash or print anything."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# After a kill: a process that waits for a broken driver can't be killed, and isn't waited for.
GRACE = 1.0  # seconds


@dataclass(frozen=True)
class Answer:
    """What a program did.

    :param code: its exit status, negative for a signal; None if it gave no answer in time or never started.
    :param out: stdout and stderr together.
    """

    code: int | None
    out: str


def ask(command: Sequence[str], variables: Mapping[str, str], timeout: float) -> Answer:
    """Run a program and return what it did; never raises, never takes much longer than ``timeout``.

    :param variables: its whole environment.
    :param timeout: seconds.
    """
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(variables),
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, str(error))
    try:
        out, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return Answer(None, _stop(child).decode("utf-8", "replace"))
    except BaseException:
        _stop(child)
        raise
    return Answer(child.returncode, out.decode("utf-8", "replace"))


def _stop(child: subprocess.Popen[bytes]) -> bytes:
    """Kill the child and its children, and return what it had printed."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    try:
        return child.communicate(timeout=GRACE)[0] or b""
    except subprocess.TimeoutExpired as late:
        return late.output or b""
