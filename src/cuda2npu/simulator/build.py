"""Compiles the simulator's C++ backend for the PyTorch at hand, once, and loads it.

A backend is bound to the C++ classes of one PyTorch, so that no compiled one can be shipped. It is
compiled at first use and kept in a user cache. A later start finds it there without a compiler and
without importing torch; what it finds is checked against a digest, as a library that was cut off by a
full disk would take the whole process down.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).with_name("backend")
OLDEST_TORCH = (2, 5)
NEWEST_TORCH = (2, 14)  # tried; a newer one is compiled for, too, and may fail
FIRST_TORCH_IN_CPP20 = (2, 12)
FLAGS = (
    "-O1",  # -O2 takes a third longer to compile and isn't faster
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
)
# torchCheckFail(..., const std::string&) as the old ABI spells it, in which wheels came up to 2.6.
OLD_ABI_SYMBOL = b"_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
COMPILE_SECONDS = 900  # twenty times what it takes on an idle core; then something hangs
COMPILING = "compiling-"  # how the folders are called in which it is compiled
INSTALL_COMPILER = "`apt-get install g++` (Debian, Ubuntu) or `dnf install gcc-c++` (openEuler, CentOS)"

Say = Callable[[str], None]


class SimulatorError(Exception):
    """Why there is no simulated NPU here, in one line that says what to do."""


@dataclass(frozen=True)
class TorchBuild:
    """The installed PyTorch, as far as compiling for it needs; read from its files, not imported.

    Attributes:
        folder: the package's folder.
        version: as in ``torch.__version__``, ``2.13.0+cpu``.
        fingerprint: the text of ``torch/version.py``, which also names the commit: it differs where
            two builds of one version differ.
        cxx11_abi: how the build spells ``std::string``; a library of the other ABI can't be loaded.
    """

    folder: Path
    version: str
    fingerprint: str
    cxx11_abi: bool

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor version."""
        return _release(self.version)

    @property
    def cxx_standard(self) -> str:
        """The C++ standard that the headers need."""
        return "c++20" if self.release >= FIRST_TORCH_IN_CPP20 else "c++17"


@dataclass(frozen=True)
class CacheEntry:
    """The place of one compiled library; whole once ``manifest`` says so.

    Attributes:
        folder: holds the library and its manifest. It comes into being by one rename.
    """

    folder: Path

    @property
    def library(self) -> Path:
        """The shared library."""
        return self.folder / "backend.so"

    @property
    def manifest(self) -> Path:
        """Digest of the library, and what it was compiled with."""
        return self.folder / "backend.json"

    def is_intact(self) -> bool:
        """Whether the library is there, and is what the compiler wrote."""
        try:
            manifest = json.loads(self.manifest.read_text("utf-8"))
            return bool(manifest["sha256"] == _digest(self.library))
        except (OSError, ValueError, KeyError, TypeError):
            return False


def installed_torch() -> TorchBuild:
    """Find the PyTorch of this interpreter.

    Raises:
        SimulatorError: There is none, it is too old, or it came without C++ headers.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SimulatorError(
            f"the simulated NPU needs PyTorch, and {sys.executable} has none: pip install torch"
        )
    folder = Path(spec.origin).parent
    try:
        fingerprint = (folder / "version.py").read_text("utf-8")
        # Asking torch itself would take the seconds of an import.
        cxx11_abi = OLD_ABI_SYMBOL not in (folder / "lib" / "libc10.so").read_bytes()
    except OSError as error:
        raise SimulatorError(f"the PyTorch in {folder} is damaged: {error}") from error
    found = re.search(r"^__version__ = '([^']+)'", fingerprint, re.MULTILINE)
    if found is None:
        raise SimulatorError(f"the PyTorch in {folder} is damaged: version.py names no version")
    torch = TorchBuild(folder, found.group(1), fingerprint, cxx11_abi)
    check_age(torch.version)
    if not (folder / "include" / "ATen" / "ATen.h").is_file():
        raise SimulatorError(f"PyTorch {torch.version} in {folder} came without its C++ headers (include/)")
    return torch


def check_age(version: str) -> None:
    """Check that a PyTorch isn't too old for the simulation.

    Args:
        version: as in ``torch.__version__``.

    Raises:
        SimulatorError: It is.
    """
    if _release(version) < OLDEST_TORCH:
        raise SimulatorError(
            f"a simulation needs PyTorch {_dotted(OLDEST_TORCH)} or later, and this is {version}"
        )


def cache_folders() -> list[Path]:
    """Where compiled libraries may lie, in the order in which they are looked for and put.

    The second is for machines whose home can't be written to. As others may write beside it, it is
    used only if it belongs to this user and nobody else may write into it.
    """
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return [
        Path(home).expanduser() / "cuda2npu" / "simulator",
        Path(tempfile.gettempdir()) / f"cuda2npu-{os.getuid()}" / "simulator",
    ]


def cache_key(torch: TorchBuild) -> str:
    """Return what tells compiled libraries apart: sources, flags, PyTorch, ABI, processor.

    The compiler is not among it: the ABI fixes what a library looks like from outside, whichever g++
    compiled it, and so a machine without a compiler can use what is there.
    """
    digest = hashlib.sha256()
    for source in sorted(SOURCES.iterdir()):
        if source.suffix in {".h", ".cpp"}:
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    digest.update(repr((FLAGS, torch.fingerprint, torch.cxx11_abi, platform.machine())).encode())
    return f"torch-{torch.version}-{digest.hexdigest()[:16]}"


def library(say: Say | None = None) -> Path:
    """Return the compiled backend for the installed PyTorch, compiling it if need be.

    Args:
        say: gets a line about what takes time; by default it is printed to standard error.

    Raises:
        SimulatorError: It isn't there and can't be compiled.
    """
    say = say or _print_to_stderr
    if not sys.platform.startswith("linux"):
        raise SimulatorError(f"the simulated NPU runs on Linux, not on {sys.platform}")
    torch = installed_torch()
    key = cache_key(torch)
    for folder in cache_folders():
        entry = CacheEntry(folder / key)
        if _is_private(folder) and entry.is_intact():
            return entry.library

    cache = _writable_cache(say)
    entry = CacheEntry(cache / key)
    with _lock(cache / f"{key}.lock", say):
        if not entry.is_intact():  # another process may have been faster
            _fill(entry, torch, say)
    return entry.library


def load(say: Say | None = None) -> Any:
    """Load the backend into this process and return its operators, ``torch.ops.cuda2npu_sim``.

    The device is called ``privateuseone`` until the caller renames it, which PyTorch allows once in a
    process. To be called once PyTorch can be imported, and before any other backend takes its place.

    Args:
        say: as for :func:`library`.

    Raises:
        SimulatorError: It can't be compiled or loaded, another backend was faster, or
            ``CUDA2NPU_SIM_DEVICES`` is no number.
    """
    path = library(say)
    import torch

    if str(path) in torch.ops.loaded_libraries:
        return torch.ops.cuda2npu_sim
    taken_by = torch._C._get_privateuse1_backend_name()
    if taken_by != "privateuseone":
        raise SimulatorError(
            f"another backend is loaded, {taken_by!r}, and PyTorch has room for one: start a new process"
        )
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        raise SimulatorError(
            f"the compiled backend can't be loaded; remove {path.parent}: {_first_line(error)}"
        ) from error
    try:
        torch.ops.cuda2npu_sim.start()
    except RuntimeError as error:
        raise SimulatorError(_first_line(error)) from error
    return torch.ops.cuda2npu_sim


def _fill(entry: CacheEntry, torch: TorchBuild, say: Say) -> None:
    compiler = _compiler()
    cache = entry.folder.parent
    try:
        _remove_leftovers(cache)
        with tempfile.TemporaryDirectory(prefix=COMPILING, dir=cache) as folder:
            made = CacheEntry(Path(folder) / "entry")
            made.folder.mkdir()
            say(f"compiling the simulated NPU for torch {torch.version}, about 30 s, once ...")
            _compile(compiler, torch, made.library, log=cache / f"{entry.folder.name}.log")
            manifest = {
                "sha256": _digest(made.library),
                "torch": torch.version,
                "compiler": _version(compiler),
            }
            made.manifest.write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
            if entry.folder.exists():  # broken, else nothing would be compiled
                shutil.rmtree(entry.folder)
            made.folder.rename(entry.folder)
    except OSError as error:
        if entry.is_intact():  # where no lock holds: another process was faster
            return
        raise SimulatorError(f"the compiled backend can't be written to {cache}: {error.strerror}") from error


def _remove_leftovers(cache: Path) -> None:
    """Remove what processes that were killed while they compiled have left; none compiles for so long."""
    for folder in cache.glob(f"{COMPILING}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > COMPILE_SECONDS:
                shutil.rmtree(folder)


def _compiler() -> list[str]:
    command = shlex.split(os.environ.get("CXX") or "g++")
    if shutil.which(command[0]) is None:
        raise SimulatorError(
            f"the simulated NPU has to be compiled once, and there is no {command[0]}: {INSTALL_COMPILER}"
        )
    return command


def _compile(compiler: Sequence[str], torch: TorchBuild, target: Path, log: Path) -> None:
    include = torch.folder / "include"
    command = [
        *compiler,
        *FLAGS,
        f"-std={torch.cxx_standard}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.cxx11_abi)}",
        *("-isystem", str(include), "-isystem", str(include / "torch" / "csrc" / "api" / "include")),
        str(SOURCES / "backend.cpp"),
        *("-o", str(target)),
        *(f"-L{torch.folder / 'lib'}", "-lc10", "-ltorch_cpu"),
    ]
    # The compiler's own temporary files, tens of megabytes, belong where there is room for the library.
    environment = {**os.environ, "TMPDIR": str(target.parent), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SimulatorError(
            f"{compiler[0]} hasn't compiled the backend within {COMPILE_SECONDS} s"
        ) from error
    if done.returncode == 0:
        log.unlink(missing_ok=True)
        return
    output = done.stdout.decode("utf-8", "replace")
    if os.strerror(errno.ENOSPC) in output:
        raise SimulatorError(f"no space is left in {log.parent}; compiling the backend takes about 30 MB")
    if "File size limit exceeded" in output:
        raise SimulatorError("files may not be as large as the backend, about 30 MB: raise `ulimit -f`")
    if "Killed" in output:
        raise SimulatorError(f"{compiler[0]} was killed; compiling the backend takes about 1.5 GB of memory")
    log.write_text(shlex.join(command) + "\n" + output, "utf-8")
    raise SimulatorError(
        f"{' '.join(compiler)} {_version(compiler)} can't compile the backend for PyTorch {torch.version}"
        f"{_if_untried(torch)}: {_first_error(output)}; all of it is in {log}"
    )


def _if_untried(torch: TorchBuild) -> str:
    return f" (tried up to {_dotted(NEWEST_TORCH)})" if torch.release > NEWEST_TORCH else ""


def _version(compiler: Sequence[str]) -> str:
    done = subprocess.run([*compiler, "-dumpfullversion"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _writable_cache(say: Say) -> Path:
    preferred, fallback = cache_folders()
    try:
        _try_writing(preferred)
        return preferred
    except OSError as error:
        reason = f"{preferred} ({error.strerror})"
    try:
        _try_writing(fallback)
    except OSError as error:
        raise SimulatorError(
            f"the compiled backend can be kept neither in {reason} nor in {fallback} ({error.strerror}): "
            "set XDG_CACHE_HOME to a folder that can be written to"
        ) from error
    if not _is_private(fallback):
        raise SimulatorError(f"{fallback} isn't this user's alone: set XDG_CACHE_HOME to a folder that is")
    say(f"can't write to {reason}, so the simulated NPU is kept in {fallback}")
    return fallback


def _try_writing(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _is_private(folder: Path) -> bool:
    """Whether nobody else can put a library there. A home's cache is the user's own matter."""
    if folder == cache_folders()[0]:
        return True
    try:
        status = [path.lstat() for path in (folder, folder.parent)]
    except OSError:
        return False
    return all(s.st_uid == os.getuid() and not s.st_mode & 0o022 for s in status)


@contextlib.contextmanager
def _lock(path: Path, say: Say) -> Iterator[None]:
    """Let one process compile and the others wait. The system frees the lock of a process that died."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is compiling the simulated NPU; waiting for it ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks: both compile, and the rename keeps them apart
        yield


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _first_error(output: str) -> str:
    return next((line for line in output.splitlines() if "error" in line), "no error given")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def _release(version: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


def _dotted(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))


def _print_to_stderr(line: str) -> None:
    print(f"cuda2npu: {line}", file=sys.stderr, flush=True)
