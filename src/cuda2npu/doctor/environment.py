"""One look at the machine: versions, variables, files, and what the import of torch does."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from cuda2npu.catalog.releases import cann_order
from cuda2npu.doctor import probe
from cuda2npu.doctor.children import Answer, ask

PACKAGES = ("torch", "torch_npu", "numpy")
LIBRARIES = ("libhccl.so", "libascendcl.so")

# Where CANN is installed by default, as root and as another user. 8.5 moved it to .../cann.
HOMES = ("Ascend/cann", "Ascend/ascend-toolkit/latest", "Ascend/nnae/latest", "Ascend/nnrt/latest")
# Source: CANN software installation guide, "querying the software package version".
INSTALLED = ("ascend_toolkit_install.info", "ascend_nnae_install.info", "ascend_nnrt_install.info")
COMPONENTS = ("compiler/version.info", "opp/version.info", "runtime/version.info")
KERNELS = (
    "opp_kernel/version.info",
    "opp/built-in/op_impl/ai_core/tbe/kernel",
    "share/info/ops*/version.info",
    "*-linux/ascend_ops_install.info",
    "ascend_ops_install.info",
)
NPU_SMI = ("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/usr/bin/npu-smi")
MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")

IMPORT_TIMEOUT = 60.0  # seconds; a cold import of torch from a network disk takes long
SMI_TIMEOUT = 15.0  # seconds; npu-smi of 16 cards takes some

_VERSION = re.compile(r"(?im)^\s*version\s*=\s*\[?([^\s\]]+)")
_VERSION_DIR = re.compile(r"(?im)^\s*version_dir\s*=\s*(\S+)")
_CUDA_BUILD = re.compile(r"(?m)^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]")


@dataclass(frozen=True)
class Cann:
    """A CANN installation.

    :param home: what ASCEND_HOME_PATH should be.
    :param version: None if its version files can't be read.
    :param set_env: the script to source; None if there is none.
    """

    home: str
    version: str | None = None
    set_env: str | None = None
    kernels: bool = True


@dataclass(frozen=True)
class Device:
    """A device file.

    :param group: the group that it belongs to, by name where it has one.
    """

    path: str
    accessible: bool = True
    group: str = "HwHiAiUser"


@dataclass(frozen=True)
class Probe:
    """How far the import of torch and torch_npu came in a child process.

    :param autoload: whether torch was to load torch_npu by itself.
    :param versions: what was imported -> its version.
    :param devices: what torch.npu.device_count() said.
    :param failed_at: ``torch``, ``torch_npu`` or ``devices``; None if all went well.
    :param reasons: exception and causes, the outermost first; or the last lines, if the child crashed.
    :param code: exit status of the child; None if it didn't end in time.
    """

    autoload: bool
    versions: Mapping[str, str] = field(default_factory=dict)
    devices: int | None = None
    failed_at: str | None = None
    reasons: Sequence[str] = ()
    code: int | None = 0


@dataclass(frozen=True)
class Environment:
    """What the checks look at; nothing else is looked at.

    :param packages: name -> installed version.
    :param torch_cuda: the CUDA version that torch was built for.
    :param variables: the process environment.
    :param opp_exists: whether there is such a folder as ASCEND_OPP_PATH names.
    :param processor: as :func:`platform.machine` calls it.
    :param libraries: those of :data:`LIBRARIES` that LD_LIBRARY_PATH leads to.
    :param npu_smi: what ``npu-smi info`` said; None if there is no such program.
    :param managers: those of :data:`MANAGERS` that exist.
    :param compiler: path of g++.
    """

    python: str
    executable: str = "python3"
    processor: str = "x86_64"
    packages: Mapping[str, str] = field(default_factory=dict)
    torch_cuda: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    cann: Cann | None = None
    opp_exists: bool = False
    libraries: frozenset[str] = frozenset()
    driver: str | None = None
    npu_smi: Answer | None = None
    devices: Sequence[Device] = ()
    managers: Sequence[Device] = ()
    compiler: str | None = None
    probes: Sequence[Probe] = ()

    @property
    def on_ascend(self) -> bool:
        """Whether anything of Ascend's is here; without, this is a machine for the simulator."""
        signs = (self.cann, self.driver, self.npu_smi, self.devices, "torch_npu" in self.packages)
        return any(signs)

    @property
    def torch(self) -> str | None:
        """The installed version of torch."""
        return self.packages.get("torch")

    @property
    def torch_npu(self) -> str | None:
        """The installed version of torch_npu."""
        return self.packages.get("torch_npu")


class Machine:
    """The files of a machine, below a root that tests can choose."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self.root = root
        self.variables = variables

    def at(self, path: str) -> Path:
        """Return where the absolute ``path`` of the machine is."""
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str:
        """Return the text of a file, or nothing if it can't be read."""
        try:
            with self.at(path).open("rb") as file:
                return file.read(65536).decode("utf-8", "replace")
        except OSError:
            return ""

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder that can be seen."""
        try:
            return self.at(path).exists()
        except OSError:
            return False

    def folders(self, variable: str) -> Iterator[str]:
        """Yield the absolute folders in a variable such as PATH."""
        for folder in self.variables.get(variable, "").split(os.pathsep):
            if folder.startswith("/"):
                yield folder

    def program(self, name: str, *also: str) -> str | None:
        """Return the path of a program on PATH or, failing that, the first of ``also``."""
        places = [f"{folder.rstrip('/')}/{name}" for folder in self.folders("PATH")]
        for path in (*places, *also):
            if self.at(path).is_file() and os.access(self.at(path), os.X_OK):
                return path
        return None

    # --- CANN ---------------------------------------------------------------------------------------

    def cann(self) -> Cann | None:
        """Return the installation that the variables name, or else the first at a default place."""
        for home in self._homes():
            version = self._cann_version(home)
            if version or any(self.exists(f"{home}/{name}") for name in ("opp", "runtime", "lib64")):
                return Cann(home, version, self._set_env(home), self._has(home, KERNELS))
        return None

    def _homes(self) -> Iterator[str]:
        for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
            if self.variables.get(variable, "").startswith("/"):
                yield self.variables[variable].rstrip("/") or "/"
        for base in ("/usr/local", self.variables.get("HOME", "")):
            if base.startswith("/"):
                yield from (f"{base.rstrip('/')}/{home}" for home in HOMES)

    def _cann_version(self, home: str) -> str | None:
        infos = [f"{folder}/{name}" for name in INSTALLED for folder in (home, *self._architectures(home))]
        for path in infos:
            match = _VERSION.search(self.text(path))
            if match and cann_order(match[1]):
                return match[1]
        for path in (f"{home}/{name}" for name in COMPONENTS):
            text = self.text(path)
            match = _VERSION_DIR.search(text) or _VERSION.search(text)
            # Version = 8.3.0.1.200:8.3.RC1 is how newer packages write it.
            found = match[1].rpartition(":")[2].rstrip("]") if match else ""
            if cann_order(found):
                return found
        return None

    def _architectures(self, home: str) -> Iterator[str]:
        for path in sorted(self.at(home).glob("*-linux")):
            yield f"{home}/{path.name}"

    def _set_env(self, home: str) -> str | None:
        for folder in (home, str(Path(home).parent)):
            if self.exists(f"{folder}/set_env.sh"):
                return f"{folder}/set_env.sh"
        return None

    def _has(self, home: str, patterns: Sequence[str]) -> bool:
        return any(next(self.at(home).glob(pattern), None) is not None for pattern in patterns)

    def libraries(self) -> frozenset[str]:
        """Return which of :data:`LIBRARIES` the loader would find on LD_LIBRARY_PATH."""
        folders = list(self.folders("LD_LIBRARY_PATH"))
        return frozenset(
            name for name in LIBRARIES if any(self.exists(f"{folder}/{name}") for folder in folders)
        )

    # --- driver and cards ---------------------------------------------------------------------------

    def driver(self) -> str | None:
        """Return the driver's version, from its version file."""
        place = re.search(r"(?m)^Driver_Install_Path_Param=(\S+)", self.text("/etc/ascend_install.info"))
        for base in (place[1] if place else "", "/usr/local/Ascend"):
            match = _VERSION.search(self.text(f"{base}/driver/version.info")) if base else None
            if match:
                return match[1]
        return None

    def npu_smi(self, timeout: float = SMI_TIMEOUT) -> Answer | None:
        """Return what ``npu-smi info`` says."""
        path = self.program("npu-smi", *NPU_SMI)
        return ask([str(self.at(path)), "info"], self.variables, timeout) if path else None

    def devices(self) -> Sequence[Device]:
        """Return the device files of the cards, in the order of their numbers."""
        try:
            names = [path.name for path in self.at("/dev").glob("davinci*")]
        except OSError:
            return ()
        numbers = sorted(int(name[len("davinci") :]) for name in names if name[len("davinci") :].isdecimal())
        return [self._device(f"/dev/davinci{number}") for number in numbers]

    def managers(self) -> Sequence[Device]:
        """Return the device files that all cards share."""
        return [self._device(path) for path in MANAGERS if self.exists(path)]

    def _device(self, path: str) -> Device:
        file = self.at(path)
        try:
            group = _group_name(file.stat().st_gid)
        except OSError:
            return Device(path, accessible=False)
        return Device(path, os.access(file, os.R_OK | os.W_OK), group)


def look(
    root: Path = Path("/"),
    variables: Mapping[str, str] | None = None,
    path: Sequence[str] | None = None,
    timeout: float = IMPORT_TIMEOUT,
) -> Environment:
    """Return what is on this machine.

    :param root: where its files are.
    :param variables: its environment; by default that of this process.
    :param path: where packages are looked for; by default where this Python looks.
    :param timeout: seconds for each import of torch.
    """
    variables = dict(os.environ if variables is None else variables)
    machine = Machine(root, variables)
    found = {name: package for name in PACKAGES if (package := _package(name, path))}
    autoloads = [False, True] if "torch_npu" in found else [False]
    with ThreadPoolExecutor(max_workers=3) as pool:  # they are all other processes
        imports = [
            pool.submit(run_probe, autoload, variables, timeout) for autoload in autoloads if "torch" in found
        ]
        npu_smi = pool.submit(machine.npu_smi)
        return Environment(
            python=".".join(map(str, sys.version_info[:3])),
            executable=sys.executable,
            processor=platform.machine(),
            packages={name: package.version for name, package in found.items()},
            torch_cuda=_cuda_build(found["torch"]) if "torch" in found else None,
            variables=variables,
            cann=machine.cann(),
            opp_exists=machine.exists(variables.get("ASCEND_OPP_PATH") or "/nowhere"),
            libraries=machine.libraries(),
            driver=machine.driver(),
            npu_smi=npu_smi.result(),
            devices=machine.devices(),
            managers=machine.managers(),
            compiler=machine.program("g++"),
            probes=[each.result() for each in imports],
        )


def _group_name(number: int) -> str:
    try:
        import grp  # not on every system

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError):  # in a container, the group often has no name
        return str(number)


def _package(name: str, path: Sequence[str] | None) -> metadata.Distribution | None:
    for found in metadata.distributions(name=name, path=list(sys.path if path is None else path)):
        if found.version:  # of a half-removed package it is None
            return found
    return None


def _cuda_build(torch: metadata.Distribution) -> str | None:
    """Return the CUDA version in torch/version.py; PyPI's version number alone doesn't tell."""
    try:
        text = Path(str(torch.locate_file("torch/version.py"))).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = _CUDA_BUILD.search(text)
    return match[1] if match else None


def run_probe(autoload: bool, variables: Mapping[str, str], timeout: float = IMPORT_TIMEOUT) -> Probe:
    """Import torch and torch_npu in a child process and return how far it came.

    :param autoload: the value of TORCH_DEVICE_BACKEND_AUTOLOAD in the child.
    """
    child = {**variables, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if autoload else "0"}
    child["PYTHONUNBUFFERED"] = "1"
    answer = ask([sys.executable, probe.__file__], child, timeout)
    versions: dict[str, str] = {}
    devices, failed_at, reasons = None, None, []
    for line in answer.out.splitlines():
        if line.startswith(probe.MARK):
            try:
                fact = json.loads(line[len(probe.MARK) :])
            except ValueError:  # cut off
                continue
            if "version" in fact:
                versions[fact["step"]] = fact["version"]
            elif "count" in fact:
                devices = fact["count"]
            else:
                failed_at, reasons = fact["at"], fact["reasons"]
    if failed_at is None and (answer.code != 0 or devices is None):  # it crashed or hung
        failed_at = next((step for step in ("torch", "torch_npu") if step not in versions), "devices")
        reasons = [line for line in answer.out.splitlines() if line.strip() and probe.MARK not in line][-3:]
    return Probe(autoload, versions, devices, failed_at, reasons, answer.code)
