"""What the user asked for: target, selection, paths. One frozen object that is handed down."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_TORCH = "2.7.1"
DEFAULT_SOC = "ascend910b"
SOCS = ("ascend910b", "ascend910_93", "ascend910a", "ascend310p", "ascend950")

# What becomes of resizing in a mode without a kernel: computed on the CPU and brought back, done in the
# mode nearest, or only reported.
INTERPOLATE = ("cpu", "nearest", "report")
DEFAULT_INTERPOLATE = "cpu"

# The minor versions of torch_npu whose wheels the API tables were read from.
OLDEST = (2, 1)
NEWEST = (2, 14)

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[.+]?[A-Za-z][\w.+]*)?")


class UsageError(Exception):
    """The request can't be carried out as it stands; the message is one line for the user."""


@dataclass(frozen=True)
class Target:
    """The Ascend machine that the code will run on.

    :param torch: PyTorch version, such as ``2.7.1``; torch_npu has the same number.
    :param soc: chip name, one of :data:`SOCS`.
    """

    torch: str = DEFAULT_TORCH
    soc: str = DEFAULT_SOC

    def __post_init__(self) -> None:
        if not _VERSION.fullmatch(self.torch):
            raise UsageError(f"--torch {self.torch}: not a version; write for example {DEFAULT_TORCH}")
        if not OLDEST <= self.version <= NEWEST:
            known = " to ".join("{}.{}".format(*version) for version in (OLDEST, NEWEST))
            raise UsageError(f"--torch {self.torch}: what torch_npu has is known for {known}")
        if self.soc not in SOCS:
            raise UsageError(f"--soc {self.soc}: unknown chip; one of {', '.join(SOCS)}")

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor version of PyTorch."""
        match = _VERSION.fullmatch(self.torch)
        assert match  # checked in __post_init__
        return int(match[1]), int(match[2])

    @property
    def minor(self) -> str:
        """The same as text, such as ``2.7``."""
        return "{}.{}".format(*self.version)


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is rewritten.

    ``select`` and ``ignore`` hold rule codes or prefixes of them (``NPU4``); an empty ``select``
    means all that are on by default. ``interpolate`` is one of :data:`INTERPOLATE`. ``rules`` holds
    paths of further rule files.
    """

    target: Target = Target()
    unsafe: bool = False
    interpolate: str = DEFAULT_INTERPOLATE
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    exclude: Sequence[str] = ()
    rules: Sequence[str] = ()
    jobs: int = 1
    lang: str = "en"

    def ignores(self, code: str) -> bool:
        """Whether the rule with this code is switched off by name."""
        return any(code.startswith(prefix) for prefix in self.ignore)

    def selects(self, code: str, on_by_default: bool = True) -> bool:
        """Whether the rule with this code is to be run."""
        if self.ignores(code):
            return False
        if self.select:
            return any(code.startswith(prefix) for prefix in self.select)
        return on_by_default
