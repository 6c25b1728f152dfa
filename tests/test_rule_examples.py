"""Every example of every rule: changed as it says, kept, or reported."""

from __future__ import annotations

import pytest

from cuda2npu.catalog.rules import Example, load_catalog
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.formats import others
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH, Settings, Target

PRELUDE = "import torch\nimport torch_npu\n"
LEFT_UNDER = {"NPU122", "NPU123"}  # what a target version lacks, and arguments without a counterpart
CASES = [
    pytest.param(rule.code, example, id=f"{rule.code}-{number}")
    for rule in load_catalog().rules.values()
    for number, example in enumerate(rule.examples)
]


def run(source: str, example: Example) -> FileResult:
    data = source.encode()
    target = Target(example.torch or DEFAULT_TORCH, example.soc or DEFAULT_SOC)
    settings = Settings(target=target, unsafe=example.unsafe)
    if example.file:
        return others.convert(data, example.file, settings) or FileResult(example.file, Status.UNCHANGED)
    index = build_index([("main.py", lambda: data)])
    return convert(data, "main.py", settings, index)


def prelude(example: Example) -> str:
    """Torch is there, and torch_npu too, unless the example is about imports."""
    return "" if example.file or "import " in example.source else PRELUDE


@pytest.mark.parametrize(("code", "example"), CASES)
def test_example(code: str, example: Example) -> None:
    before = prelude(example)
    result = run(before + example.source, example)
    assert result.error is None
    text = result.data.decode() or before + example.source
    assert text == before + example.expected
    applied = {change.rule for change in result.changes if change.applied}
    left = {f.rule for f in result.findings} | {c.rule for c in result.changes if not c.applied}
    if example.before:
        assert code in applied | left
    if example.reported:
        assert left & {code, *LEFT_UNDER}
    if example.kept:
        assert not applied


@pytest.mark.parametrize(("code", "example"), CASES)
def test_converting_again_changes_nothing(code: str, example: Example) -> None:
    once = run(prelude(example) + example.source, example)
    if once.data:
        again = run(once.data.decode(), example)
        assert [change for change in again.changes if change.applied] == []
