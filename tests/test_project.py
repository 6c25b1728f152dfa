from __future__ import annotations

import multiprocessing
import os
import random
import signal
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from cuda2npu import project, workers
from cuda2npu.discover import Entry, discover
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.roots import given_roots, named_roots, surroundings
from cuda2npu.settings import Settings
from cuda2npu.writing import Copy, leave

SOURCE = "import torch\nx = torch.ones(1).cuda()\n"
MANY = 40  # more than two workers are started for


class Deadly(os.PathLike[str]):
    """A path that ends the process that opens it, as a crash in native code would."""

    def __fspath__(self) -> str:
        os._exit(9)


def entries_of(folder: Path) -> list[Entry]:
    return list(discover(named_roots([str(folder)])))


def many(tmp_path: Path, write) -> list[Entry]:
    return entries_of(write(tmp_path / "src", {f"f{number:02}.py": SOURCE for number in range(MANY)}))


def convert(entries: list[Entry], jobs: int = 1) -> list[FileResult]:
    settings = Settings(jobs=jobs)
    plain = [entry for entry in entries if isinstance(entry.source, str)]
    return list(project.convert(entries, settings, project.index(plain), leave))


def test_results_do_not_depend_on_the_number_of_workers(tmp_path, write):
    entries = many(tmp_path, write)
    alone = convert(entries, jobs=1)
    assert [result.path for result in alone] == [entry.path for entry in entries]
    assert {result.status for result in alone} == {Status.CHANGED}
    assert convert(entries, jobs=2) == alone


def test_a_file_that_kills_its_worker_fails_alone(tmp_path, write):
    entries = many(tmp_path, write)
    for number in (5, 6, 30):
        entries[number] = replace(entries[number], source=Deadly())
    results = convert(entries, jobs=2)
    assert [result.path for result in results] == [entry.path for entry in entries]
    failed = {result.path: result.error for result in results if result.status is Status.FAILED}
    assert set(failed) == {"f05.py", "f06.py", "f30.py"}
    assert failed["f05.py"].startswith("the process that converted it died")
    assert sum(result.status is Status.CHANGED for result in results) == MANY - 3


def test_a_worker_that_is_killed_costs_no_file(tmp_path, write):
    entries = many(tmp_path, write)
    results = project.convert(entries, Settings(jobs=2), project.index(entries), leave)
    first = next(results)
    for worker in multiprocessing.active_children():
        os.kill(worker.pid, signal.SIGKILL)
    statuses = [result.status for result in (first, *results)]
    assert statuses == [Status.CHANGED] * MANY


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(8))
def test_workers_that_are_killed_at_any_time(tmp_path, write, seed):
    chance = random.Random(seed)
    large = SOURCE + "y = x.cuda() + torch.ones(2).cuda()\n" * 600  # its result fills a pipe
    entries = entries_of(
        write(tmp_path / "src", {f"f{n:02}.py": large if n % 2 else SOURCE for n in range(MANY)})
    )
    done = Event()

    def kill() -> None:
        while not done.wait(chance.uniform(0.2, 2)):
            for worker in multiprocessing.active_children():
                os.kill(worker.pid, signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    try:
        results = convert(entries, jobs=3)
    finally:
        done.set()
        killer.join()
    assert [result.path for result in results] == [entry.path for entry in entries]
    for result in results:
        died = (result.error or "").startswith("the process that converted it died")
        assert died if result.status is Status.FAILED else result.status is Status.CHANGED


def test_no_worker_survives_a_run_that_is_given_up(tmp_path, write):
    entries = many(tmp_path, write)
    results = project.convert(entries, Settings(jobs=2), project.index(entries), leave)
    next(results)
    assert multiprocessing.active_children()
    results.close()
    for worker in multiprocessing.active_children():
        worker.join(10)
    assert not multiprocessing.active_children()


def test_a_fault_of_ours_is_the_result_of_one_file(tmp_path, write, monkeypatch):
    entries = entries_of(write(tmp_path, {"a.py": SOURCE, "b.py": SOURCE}))
    good = workers.convert_file

    def faulty(data: bytes, path: str, *rest: object) -> FileResult:
        if path == "a.py":
            raise KeyError("oops")
        return good(data, path, *rest)

    monkeypatch.setattr(workers, "convert_file", faulty)
    first, second = convert(entries)
    assert first.status is Status.FAILED
    assert first.error == "a fault in cuda2npu (KeyError: 'oops'); left as it is, please report it"
    assert second.status is Status.CHANGED


def test_a_file_that_vanishes_while_running(tmp_path, write):
    src = write(tmp_path / "src", {"a.py": SOURCE, "b.py": SOURCE, "c.py": SOURCE, "d.bin": b"\0"})
    entries, out = entries_of(src), tmp_path / "out"
    out.mkdir()
    results = project.convert(entries, Settings(), project.index(entries), Copy(out))
    assert next(results).status is Status.CHANGED
    (src / "b.py").unlink()
    (src / "d.bin").unlink()
    b, c, d = results
    assert (b.path, b.status, b.error) == ("b.py", Status.FAILED, "can't be read: No such file or directory")
    assert c.status is Status.CHANGED
    assert (d.path, d.status, d.error) == (
        "d.bin",
        Status.FAILED,
        "can't be copied: No such file or directory",
    )
    assert sorted(path.name for path in out.iterdir()) == ["a.py", "c.py"]


def test_what_cannot_be_written_counts_as_failed_without_changes(tmp_path, write):
    entries = entries_of(write(tmp_path, {"a.py": SOURCE}))

    def full_disk(entry: Entry, result: FileResult) -> None:
        raise OSError(28, "No space left on device")

    (result,) = project.convert(entries, Settings(lang="zh"), project.index(entries), full_disk)
    assert result.status is Status.FAILED
    assert result.error == "无法写入：No space left on device"
    assert not result.changes


def test_only_python_failed_and_skipped_paths_have_results(tmp_path, write):
    write(tmp_path, {"a.py": "", "x.bin": "", "pkg/b.py": ""})
    (tmp_path / "out").symlink_to("/")
    results = convert(entries_of(tmp_path))
    assert [(result.path, result.status) for result in results] == [
        ("a.py", Status.UNCHANGED),
        ("out", Status.FAILED),
        ("pkg/b.py", Status.UNCHANGED),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_fails(tmp_path, write):
    entries = entries_of(write(tmp_path, {"a.py": SOURCE}))
    (tmp_path / "a.py").chmod(0)
    (result,) = convert(entries)
    assert result.error == "can't be read: Permission denied"


def test_the_index_sees_the_whole_project(tmp_path, write, monkeypatch):
    own = "class Timer:\n    def cuda(self):\n        return 1\n"
    write(
        tmp_path, {"pyproject.toml": "", "pkg/__init__.py": "", "pkg/timer.py": own, "pkg/use.py": "x = 1\n"}
    )
    monkeypatch.chdir(tmp_path)
    use = given_roots(["pkg/use.py"])
    around = project.index(discover(surroundings(use)))
    assert around == project.index(discover(given_roots(["."])))
    assert around != project.index(discover(use))
