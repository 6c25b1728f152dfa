"""Waits for the script, and passes on to it the signals that come to the runner alone."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# What ends a program, and what schedulers send before they do.
_PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
_FROM_KERNEL = 0x80  # SI_KERNEL of Linux's siginfo.h
_SECONDS = 0.5  # another thread of this process, which blocks nothing, may have swallowed SIGCHLD


def run(command: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None) -> int:
    """Run ``command`` in ``cwd`` and return its exit code, negative for the signal that killed it.

    A signal that somebody sends to this process goes on to the script. Ctrl-C, and a terminal that is closed,
    come from the kernel, which sends them to every process of the terminal: the script has them already.
    """
    if not hasattr(signal, "sigtimedwait"):  # not on Linux: Ctrl-C is all that matters
        return _run_past_interrupts(command, environment, cwd)
    passed_on = {getattr(signal, name) for name in _PASSED_ON}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*passed_on, signal.SIGCHLD})

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        process = subprocess.Popen(command, env=dict(environment), cwd=cwd, preexec_fn=unblock)
        while process.poll() is None:
            arrived = signal.sigtimedwait({*passed_on, signal.SIGCHLD}, _SECONDS)
            if arrived and arrived.si_signo in passed_on and arrived.si_code != _FROM_KERNEL:
                process.send_signal(arrived.si_signo)
        return process.returncode
    finally:
        unblock()


def _run_past_interrupts(command: Sequence[str], environment: Mapping[str, str], cwd: Path | None) -> int:
    process = subprocess.Popen(command, env=dict(environment), cwd=cwd)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
