"""Compiling the backend once: the cache, what can break it, and what the user is told.

Only the first test takes what the real compiler made. The others have a compiler that is quick.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from cuda2npu.simulator import build
from cuda2npu.simulator.build import SimulatorError, cache_key, installed_torch, library

COMPILER = """#!/bin/sh
[ "$1" = -dumpfullversion ] && echo 12.2.0 && exit
echo called >> {calls}
{body}
while [ "$1" != -o ]; do shift; done
echo library > "$2"
"""


class Compiler:
    """A shell script that takes the compiler's place and counts its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "g++"
        self._calls = folder / "calls"
        self.does("")

    def does(self, body: str) -> None:
        """Have it run ``body`` before it writes the library."""
        self.path.write_text(COMPILER.format(calls=self._calls, body=body))
        self.path.chmod(0o755)

    @property
    def calls(self) -> int:
        return len(self._calls.read_text().splitlines()) if self._calls.exists() else 0


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))  # for child processes: the second cache lies there
    (tmp_path / "bin").mkdir()
    compiler = Compiler(tmp_path / "bin")
    monkeypatch.setenv("CXX", str(compiler.path))
    return compiler


@pytest.fixture
def said() -> list[str]:
    return []


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_second_start_is_quick_and_needs_no_compiler(tmp_path: Path) -> None:
    library()
    done = run(
        "import time, torch\n"
        "from cuda2npu.simulator.build import load\n"
        "start = time.perf_counter()\n"
        "assert load() is load()\n"
        "print(time.perf_counter() - start)",
        PATH=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert float(done.stdout) < 1


def test_a_library_is_compiled_once(compiler: Compiler, said: list[str]) -> None:
    path = library(said.append)
    assert path.read_text() == "library\n"
    assert library(said.append) == path
    assert compiler.calls == 1
    version = installed_torch().version
    assert said == [f"compiling the simulated NPU for torch {version}, about 30 s, once ..."]
    assert not list(path.parent.parent.glob("compiling-*"))


def test_finding_it_imports_no_torch(compiler: Compiler) -> None:
    library(lambda line: None)
    done = run(
        "import sys\n"
        "from cuda2npu.simulator.build import library\n"
        "library()\n"
        "assert 'torch' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr
    assert compiler.calls == 1


@pytest.mark.parametrize("damage", ["cut off", "library gone", "manifest gone", "manifest cut off"])
def test_a_broken_entry_is_compiled_again(damage: str, compiler: Compiler) -> None:
    path = library(lambda line: None)
    manifest = path.with_name("backend.json")
    if damage == "cut off":
        path.write_text("libr")
    elif damage == "library gone":
        path.unlink()
    elif damage == "manifest gone":
        manifest.unlink()
    else:
        manifest.write_text("{")
    assert library(lambda line: None).read_text() == "library\n"
    assert compiler.calls == 2


def test_of_two_processes_one_compiles(compiler: Compiler) -> None:
    compiler.does("sleep 2")
    code = "from cuda2npu.simulator.build import library; print(library())"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    results = [process.communicate() for process in processes]
    assert results[0][0] == results[1][0] != ""
    assert compiler.calls == 1
    messages = "".join(stderr for _, stderr in results)
    assert messages.count("compiling the simulated NPU for torch") == 1
    assert messages.count("another process is compiling the simulated NPU; waiting for it") == 1


def test_without_a_compiler_the_package_is_named(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SimulatorError, match=r"there is no g\+\+: `apt-get install g\+\+`.*gcc-c\+\+"):
        library()


def test_a_compile_error_is_told_and_kept(compiler: Compiler) -> None:
    compiler.does("echo 'Tensor.h:1:2: error: expected a declaration'; exit 1")
    with pytest.raises(SimulatorError, match="error: expected a declaration; all of it is in ") as e:
        library(lambda line: None)
    log = Path(str(e.value).rsplit(" in ", 1)[1])
    assert "error: expected" in log.read_text()
    compiler.does("")
    library(lambda line: None)
    assert not log.exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("fatal error: error writing to /tmp/x.s: No space left on device", "no space is left in"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "about 1.5 GB of memory"),
        ("g++: internal compiler error: File size limit exceeded signal terminated program", "ulimit -f"),
    ],
)
def test_a_machine_that_is_too_small_is_told_apart(output: str, message: str, compiler: Compiler) -> None:
    compiler.does(f"echo '{output}'; exit 1")
    with pytest.raises(SimulatorError, match=message):
        library(lambda line: None)


def test_what_a_killed_process_left_is_removed(compiler: Compiler, said: list[str]) -> None:
    cache = build.cache_folders()[0]
    old, new = cache / "compiling-old", cache / "compiling-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "backend.s").write_text("half of it")
    os.utime(old, (0, 0))
    library(said.append)
    assert not old.exists()
    assert new.exists()  # somebody may be compiling there: not every file system has locks


def test_a_compiler_that_hangs_is_ended(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "COMPILE_SECONDS", 0.2)
    compiler.does("exec sleep 60")
    with pytest.raises(SimulatorError, match="hasn't compiled the backend within"):
        library(lambda line: None)


def test_a_cache_that_can_not_be_written_is_replaced(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: list[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = library(said.append)
    assert path.is_relative_to(tmp_path / "tmp")
    assert said[0].startswith(f"can't write to {tmp_path}/file/cuda2npu/simulator (Not a directory)")
    assert library(said.append) == path
    assert compiler.calls == 1


def test_nowhere_to_write_is_told(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(SimulatorError, match="set XDG_CACHE_HOME to a folder that can be written to"):
        library()


def test_a_temporary_folder_that_others_can_write_to_is_not_trusted(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = library(lambda line: None)
    path.parent.parent.chmod(0o777)
    with pytest.raises(SimulatorError, match="isn't this user's alone"):
        library()


def fake_torch(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str, library: bytes = b"ELF") -> None:
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "libc10.so").write_bytes(library)
    (folder / "version.py").write_text(f"__version__ = '{version}'\n")
    (folder / "include" / "ATen").mkdir(parents=True)
    (folder / "include" / "ATen" / "ATen.h").touch()
    found = SimpleNamespace(origin=str(folder / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: found)


def test_torch_is_read_from_its_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(monkeypatch, tmp_path / "old", "2.5.1+cpu", library=build.OLD_ABI_SYMBOL)
    torch = installed_torch()
    assert (torch.release, torch.cxx_standard, torch.cxx11_abi) == ((2, 5), "c++17", False)
    fake_torch(monkeypatch, tmp_path / "new", "2.12.0a0+git1234")
    torch = installed_torch()
    assert (torch.release, torch.cxx_standard, torch.cxx11_abi) == ((2, 12), "c++20", True)


def test_what_was_read_from_the_files_is_true() -> None:
    import torch

    found = installed_torch()
    assert found.version == torch.__version__
    assert found.cxx11_abi == torch.compiled_with_cxx11_abi()


def test_the_key_tells_builds_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(monkeypatch, tmp_path, "2.7.1")
    torch = installed_torch()
    keys = {
        cache_key(torch),
        cache_key(replace(torch, cxx11_abi=False)),
        cache_key(replace(torch, fingerprint="another commit")),
    }
    assert len(keys) == 3
    assert all(key.startswith("torch-2.7.1-") for key in keys)


def test_torch_that_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(monkeypatch, tmp_path, "2.4.1")
    with pytest.raises(SimulatorError, match=r"needs PyTorch 2\.5 or later, and this is 2\.4\.1"):
        library()


def test_torch_without_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(monkeypatch, tmp_path, "2.7.1")
    (tmp_path / "include" / "ATen" / "ATen.h").unlink()
    with pytest.raises(SimulatorError, match="without its C\\+\\+ headers"):
        library()


def test_torch_that_is_damaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(monkeypatch, tmp_path, "2.7.1")
    (tmp_path / "lib" / "libc10.so").unlink()
    with pytest.raises(SimulatorError, match="is damaged"):
        library()


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SimulatorError, match="pip install torch"):
        library()


def test_a_compile_error_with_a_torch_that_was_not_tried(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_torch(monkeypatch, tmp_path / "torch", "2.99.0")
    compiler.does("echo 'x: error: y'; exit 1")
    with pytest.raises(SimulatorError, match=r"for PyTorch 2\.99\.0 \(tried up to 2\.14\): x: error: y"):
        library(lambda line: None)


def test_a_library_that_can_not_be_loaded(compiler: Compiler) -> None:
    library(lambda line: None)
    done = run("from cuda2npu.simulator.build import load; load()")
    assert "SimulatorError: the compiled backend can't be loaded; remove " in done.stderr


def test_another_backend_has_the_place() -> None:
    library()
    done = run(
        "import torch\n"
        "torch.utils.rename_privateuse1_backend('other')\n"
        "from cuda2npu.simulator.build import load\n"
        "load()"
    )
    assert "SimulatorError: another backend is loaded, 'other'" in done.stderr
