"""Which files are looked at more closely than their bytes."""

from __future__ import annotations

import pytest

from cuda2npu.rewrite.bytes_test import concerns
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import Settings, Target

INDEX = build_index([])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x = 1\n", False),
        (b"x.cuda()\n", True),
        (b"import torch\nx = torch.topk(y, 3, sorted=False)\n", True),
        (b"import heap\nx = heap.topk(y, 3, sorted=False)\n", False),  # nothing of torch's
        (b"import torch\nx = topk_of(y)\n", False),  # another identifier
    ],
)
def test_a_file_concerns_us_by_a_cuda_word_or_by_a_word_of_a_rule(data: bytes, expected: bool) -> None:
    assert concerns(data, Settings(), INDEX) is expected


def test_words_of_rules_that_are_off_do_not_count() -> None:
    data = b"import torch\nx = torch.topk(y, 3, sorted=False)\n"
    assert not concerns(data, Settings(ignore=("NPU4",)), INDEX)
    assert not concerns(data, Settings(select=("NPU1",)), INDEX)
    assert concerns(data, Settings(select=("NPU422",)), INDEX)


def test_words_of_rules_about_other_chips_do_not_count() -> None:
    data = b"import torch\nx = torch.rand(3).bfloat16()\n"
    assert not concerns(data, Settings(), INDEX)
    assert concerns(data, Settings(Target(soc="ascend310p")), INDEX)
