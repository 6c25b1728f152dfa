"""What torch_npu's run-time shim patches is converted in the source, or reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import Settings, Target

TABLE = Path(__file__).parent / "data/transfer_to_npu.txt"
HEAD = "import torch\nimport torch_npu\n"
LINES = [
    tuple(line.split(" => "))
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[line for line, _ in LINES])
def test_what_is_patched_is_converted(line: str, expected: str) -> None:
    data = f"{HEAD}{line}\n".encode()
    result = convert(data, "a.py", Settings(target=Target("2.13.0")), build_index([("a.py", lambda: data)]))
    if expected.startswith("NPU"):
        assert expected in {finding.rule for finding in result.findings}
    else:
        assert result.data.decode() == f"{HEAD}{expected}\n"


def test_the_table_is_whole() -> None:
    assert len(LINES) > 100
