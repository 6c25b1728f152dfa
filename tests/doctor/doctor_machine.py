"""Machines for the tests of the doctor: folders with version files, packages and programs in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from cuda2npu.doctor.check import Check
from cuda2npu.doctor.environment import MANAGERS, Answer, Cann, Device, Environment, Probe

HOME = "/usr/local/Ascend/ascend-toolkit/latest"

TORCH = '__version__ = "2.7.1"\n'
AUTOLOADING = (
    TORCH
    + """
import os
if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
    try:
        import torch_npu
    except Exception as error:
        raise RuntimeError(
            "Failed to load the backend extension: torch_npu. "
            "You can disable extension auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0."
        ) from error
"""
)
TORCH_NPU = """
import torch, types
__version__ = "2.7.1"
torch.npu = types.SimpleNamespace(device_count=lambda: 2)
"""

# An NPU server on which everything is as it should be.
HEALTHY = Environment(
    python="3.11.7",
    executable="/opt/python",
    packages={"torch": "2.7.1+cpu", "torch_npu": "2.7.1", "numpy": "1.26.4"},
    variables={
        "ASCEND_HOME_PATH": HOME,
        "ASCEND_OPP_PATH": f"{HOME}/opp",
        "ASCEND_RT_VISIBLE_DEVICES": "0,1",
    },
    cann=Cann(HOME, "8.3.RC1", "/usr/local/Ascend/ascend-toolkit/set_env.sh"),
    opp_exists=True,
    libraries=frozenset({"libhccl.so", "libascendcl.so"}),
    driver="25.2.0",
    npu_smi=Answer(0, "| npu-smi 25.2.0 |"),
    devices=[Device("/dev/davinci0"), Device("/dev/davinci1")],
    managers=[Device(path) for path in MANAGERS],
    compiler="/usr/bin/g++",
    probes=[
        Probe(False, {"torch": "2.7.1+cpu", "torch_npu": "2.7.1"}, 2),
        Probe(True, {"torch": "2.7.1+cpu", "torch_npu": "2.7.1"}, 2),
    ],
)
LAPTOP = Environment(python="3.11.7", executable="/opt/python")


def by_name(checks: Iterable[Check]) -> dict[str, Check]:
    """Return the checks by their names."""
    return {check.name: check for check in checks}


def said(check: Check, lang: str = "en") -> str:
    """Return what a check says, and its advice, in one line."""
    advice = check.advice.in_language(lang) if check.advice else ""
    return " ".join(f"{check.found.in_language(lang)} | {advice}".split())


class FakeMachine:
    """A root folder that is filled step by step."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site = root / "site-packages"
        self.site.mkdir(parents=True)
        python = os.path.dirname(sys.executable)
        self.variables = {"PATH": f"/usr/bin:{python}", "HOME": "/home/me", "PYTHONPATH": str(self.site)}

    def file(self, path: str, text: str = "", mode: int = 0o644) -> Path:
        """Write a file at an absolute path of the machine."""
        where = self.root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")
        where.chmod(mode)
        return where

    def package(self, name: str, release: str, code: str = "", **modules: str) -> None:
        """Install a package: its metadata, and its __init__.py."""
        info = self.site / f"{name}-{release}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {release}\n"
        )
        folder = self.site / name
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(code)
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)

    def cann(self, version: str = "8.3.RC1", home: str = HOME) -> None:
        """Install CANN, and source its set_env.sh."""
        self.file(f"{home}/aarch64-linux/ascend_toolkit_install.info", f"package_name=x\nversion={version}\n")
        self.file(f"{home}/opp/version.info", "Version=8.3.0.1.200\n")
        self.file(f"{home}/opp_kernel/version.info", f"version_dir={version}\n")
        self.file(f"{home}/lib64/libhccl.so")
        self.file(f"{home}/lib64/libascendcl.so")
        self.file(f"{os.path.dirname(home)}/set_env.sh")
        self.variables.update(
            ASCEND_HOME_PATH=home, ASCEND_OPP_PATH=f"{home}/opp", LD_LIBRARY_PATH=f"{home}/lib64"
        )

    def cards(self, count: int = 2) -> None:
        """Put cards in, with their driver."""
        for number in range(count):
            self.file(f"/dev/davinci{number}")
        for path in MANAGERS:
            self.file(path)
        self.file("/usr/local/Ascend/driver/version.info", "Version=25.2.0\npackage_version=25.2.0\n")
        self.file("/usr/local/bin/npu-smi", "#!/bin/sh\necho '| npu-smi 25.2.0 |'\n", 0o755)
