from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

BODY = "    x = x.cuda() if torch.cuda.is_available() else x.to('cuda:0')\n" * 60
FILES = {f"f{number:03}.py": f"import torch\n\n\ndef f{number}(x):\n{BODY}" for number in range(80)}
ENDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


def wait_until_new(path: Path, old: int, running: subprocess.Popen[str]) -> None:
    """Wait until a run has written ``path`` anew."""
    while not path.exists() or path.stat().st_ino == old:
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)


def check_files(src: Path, inodes: dict[str, int]) -> int:
    """Check that every file is the old one or a whole new one; return the number of new ones."""
    assert sorted(path.name for path in src.iterdir()) == sorted(FILES)
    new = 0
    for path, text in FILES.items():
        now = (src / path).read_text()
        if (src / path).stat().st_ino == inodes[path]:
            assert now == text
        else:
            new += 1
            assert ".cuda()" not in now
            assert now.count("\n") >= text.count("\n")
    return new


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_an_interrupted_run_leaves_old_or_new_files(tmp_path, write, process, jobs, number):
    src = write(tmp_path / "src", FILES)
    inodes = {path: (src / path).stat().st_ino for path in FILES}
    running = process("convert", src, "--in-place", "--jobs", jobs, "--report", tmp_path / "report")
    wait_until_new(src / "f003.py", inodes["f003.py"], running)
    os.killpg(running.pid, number)
    out, err = running.communicate(timeout=60)
    code, word = ENDS[number]
    assert (running.returncode, out, err.strip()) == (code, "", f"cuda2npu: {word}")
    assert 4 <= check_files(src, inodes) < len(FILES)
    assert list((tmp_path / "report").iterdir()) == []


def test_an_interrupted_copy_says_that_it_is_incomplete(tmp_path, write, process):
    src, out = write(tmp_path / "src", FILES), tmp_path / "out"
    running = process("convert", src, "-o", out, "--jobs", 2)
    wait_until_new(out / "f003.py", 0, running)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert f"{out} is incomplete; convert again with --force" in err
    assert not [path for path in out.rglob("*") if path.suffix == ".tmp"]
    assert not (out / "cuda2npu-report" / "report.json").exists()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
def test_interrupts_at_any_time(tmp_path, write, process, seed):
    chance = random.Random(seed)
    src = write(tmp_path / "src", FILES)
    inodes = {path: (src / path).stat().st_ino for path in FILES}
    running = process("convert", src, "--in-place", "--jobs", chance.choice((1, 2, 4)))
    time.sleep(chance.uniform(0.3, 4))
    for _ in range(chance.choice((1, 1, 2))):
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    check_files(src, inodes)
