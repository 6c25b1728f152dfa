"""Converting files in worker processes: in order, with little memory, and so that none stops the others.

``concurrent.futures`` has one pipe for the results of all its processes. When a process ends while it
writes to it, the reader waits for the rest for ever, and what was under way can't be told. So here
each worker has a pipe of its own: it may be killed at any time, and the file that it had is known.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from cuda2npu.discover import Entry
from cuda2npu.messages import say
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.files import convert as convert_file
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

FILES_PER_WORKER = 8  # a process takes about as long to start as this many files to convert
AHEAD = 8  # files per worker that may be converted before their turn comes
SENT = 2  # files that a worker has at a time, so that it needn't wait for the next one


def convert(
    entries: Sequence[Entry], settings: Settings, project: ProjectIndex
) -> Generator[FileResult, None, None]:
    """Yield the result of each Python file, in the order of ``entries``.

    The results don't depend on ``settings.jobs``; with one job, or few files, no process is started.
    Close the iterator if you stop before its end, so that the processes end at once.
    """
    jobs = min(settings.jobs, len(entries) // FILES_PER_WORKER)
    if jobs < 2:
        for entry in entries:
            yield convert_entry(entry, settings, project)
        return
    with closing(_Crew(entries, jobs, settings, project)) as crew:
        for number in range(len(entries)):
            yield crew.result(number)


def convert_entry(entry: Entry, settings: Settings, project: ProjectIndex) -> FileResult:
    """Read and convert one file; whatever happens is in the result."""
    try:
        data = Path(entry.source).read_bytes()
    except OSError as error:
        reason = say("not_read", settings.lang, reason=error.strerror)
        return FileResult(entry.path, Status.FAILED, error=reason)
    result = convert_bytes(data, entry.relative_path, settings, project)
    return replace(result, path=entry.path)


def convert_bytes(data: bytes, path: str, settings: Settings, project: ProjectIndex) -> FileResult:
    """Convert the contents of one file; whatever happens is in the result."""
    try:
        return convert_file(data, path, settings, project)
    except Exception as error:  # a fault of ours in one file must not take the others with it
        reason = say("internal", settings.lang, reason=f"{type(error).__name__}: {error}")
        return FileResult(path, Status.FAILED, error=reason)


class _Crew:
    """Workers, and the files that wait for them, are with them or are done."""

    def __init__(
        self, entries: Sequence[Entry], jobs: int, settings: Settings, project: ProjectIndex
    ) -> None:
        self._entries = entries
        self._given = (settings, project)
        self._waiting = deque(range(len(entries)))
        self._done: dict[int, FileResult] = {}
        self._suspects: set[int] = set()
        self._workers: list[_Worker] = []
        try:
            for _ in range(jobs):
                self._workers.append(_Worker(*self._given))
        except BaseException:
            self.close()
            raise

    def result(self, number: int) -> FileResult:
        """Return the result of the file with this number, the next one, when it is there."""
        while number not in self._done:
            self._send(number + AHEAD * len(self._workers))
            ready = wait([worker.pipe for worker in self._workers if worker.files])
            for worker in [worker for worker in self._workers if worker.pipe in ready]:
                try:
                    self._done[worker.files[0]] = worker.pipe.recv()
                    worker.files.popleft()
                except (EOFError, OSError):
                    self._replace(worker)
        return self._done.pop(number)

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.end()

    def _send(self, limit: int) -> None:
        """Give files with a number below ``limit`` to workers that have too few."""
        for worker in list(self._workers):
            while self._waiting and self._waiting[0] < limit and len(worker.files) < SENT:
                worker.files.append(self._waiting.popleft())
                try:
                    worker.pipe.send(self._entries[worker.files[-1]])
                except OSError:
                    self._replace(worker)
                    break

    def _replace(self, worker: _Worker) -> None:
        """Start a worker for one that died.

        The file that it had is tried once more, for something else may have killed the worker.
        """
        first = worker.files[0]
        if first in self._suspects:
            worker.files.popleft()
            path = self._entries[first].path
            self._done[first] = FileResult(path, Status.FAILED, error=say("worker_died", self._given[0].lang))
        self._suspects.add(first)
        self._waiting.extendleft(reversed(worker.files))
        worker.end()
        self._workers[self._workers.index(worker)] = _Worker(*self._given)


class _Worker:
    """A process that converts the files it is sent, one after the other, and sends back the results."""

    def __init__(self, settings: Settings, project: ProjectIndex) -> None:
        self.files: deque[int] = deque()  # what it was sent and hasn't answered yet
        context = _context()
        self.pipe, other_end = context.Pipe()
        with closing(other_end), _interrupts_held_back():
            self._process = context.Process(target=_serve, args=(other_end, settings, project), daemon=True)
            self._process.start()

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection, settings: Settings, project: ProjectIndex) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for Windows; elsewhere it is held back for good
    try:
        while True:
            pipe.send(convert_entry(pipe.recv(), settings, project))
    except (EOFError, OSError):
        return  # nobody is there any more


def _context() -> ForkServerContext | SpawnContext:
    """Return how workers are started: never as a fork of this process, where a thread may hold a lock."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # LibCST is imported once, and not by every worker
    return context


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started in the block: it goes to all of them at once.

    The parent gets it when the block ends, and then ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
