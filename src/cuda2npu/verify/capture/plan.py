"""What the parent tells the processes that record, and what it hears from them: a folder of small files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cuda2npu.runner.variables import THEN
from cuda2npu.verify.capture.settings import Settings, settings_from_json

LEVELS = ("build", "forward", "backward", "train", "evaluate")  # how far a model is taken
_PLAN = "CUDA2NPU_CAPTURE"  # the variable that holds the plan's path
_START = "cuda2npu.verify.capture.script:start"
_FILE = "plan.json"
_ERROR = "error.txt"


@dataclass(frozen=True)
class Plan:
    """What is to be recorded.

    :param folder: of the capture, absolute.
    :param exchange: folder of this file; it is gone after the run.
    :param model: what model mode needs beside; empty for a script.
    """

    folder: str
    what: str
    device: str
    settings: Settings
    exchange: str
    dtype: str = ""
    model: Mapping[str, Any] = field(default_factory=dict)

    def write(self) -> dict[str, str]:
        """Write it; return the variables by which the processes find it."""
        path = Path(self.exchange) / _FILE
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        return {_PLAN: str(path), THEN: _START, "TORCHDYNAMO_DISABLE": "1"}

    def claim(self, rank: int) -> bool:
        """Whether this process is the first that records for a rank, and so the one that does."""
        try:
            os.close(os.open(Path(self.exchange) / f"rank-{rank}", os.O_CREAT | os.O_EXCL))
        except OSError:
            return False
        return True

    def tell(self, error: str) -> None:
        """Tell the parent why there is no capture."""
        (Path(self.exchange) / _ERROR).write_text(error, encoding="utf-8")

    def told(self) -> str:
        """Return what was told; "" if nothing was."""
        path = Path(self.exchange) / _ERROR
        return path.read_text(encoding="utf-8") if path.is_file() else ""


def read_plan() -> Plan:
    """Return the plan of this process's run."""
    found = json.loads(Path(os.environ[_PLAN]).read_text(encoding="utf-8"))
    return Plan(**{**found, "settings": settings_from_json(found["settings"])})
