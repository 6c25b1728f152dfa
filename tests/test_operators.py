"""Operators and types with limits: what is followed, what hinders a change, what is no tensor."""

from __future__ import annotations

import pytest

from cuda2npu.catalog.grades import Severity
from cuda2npu.rewrite.change import FileResult, apply
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import Settings, Target

START = "import torch\nimport torch.nn.functional as F\n"
FIRST_CHIP = Settings(Target(soc="ascend910a"), unsafe=True)


def run(source: str, settings: Settings = FIRST_CHIP) -> FileResult:
    data = (START + source).encode()
    return convert(data, "main.py", settings, build_index([("main.py", lambda: data)]))


def converted(source: str, settings: Settings = FIRST_CHIP) -> str:
    result = run(source, settings)
    text = (result.data or (START + source).encode()).decode()
    assert apply(START + source, [change for change in result.changes if change.applied]) == text
    return text.removeprefix(START) if hasattr(str, "removeprefix") else text[len(START) :]


def rules(source: str, settings: Settings = FIRST_CHIP) -> set[str]:
    return {finding.rule for finding in run(source, settings).findings}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "y = F.interpolate(input=x, mode='nearest-exact', size=3)\n",
            "y = F.interpolate(input=x.cpu(), mode='nearest-exact', size=3).to(x.device)\n",
        ),
        (
            "y = F.interpolate(self.head(x), size=3, mode='nearest-exact')\n",
            "y = F.interpolate(self.head(x).cpu(), size=3, mode='nearest-exact').npu()\n",
        ),
        (
            "y = (F.interpolate((x), size=3, mode='nearest-exact')).sum()\n",
            "y = (F.interpolate((x).cpu(), size=3, mode='nearest-exact').to(x.device)).sum()\n",
        ),
        (
            "y = F.interpolate((x + x) * 2, size=3, mode='nearest-exact')\n",
            "y = F.interpolate(((x + x) * 2).cpu(), size=3, mode='nearest-exact').npu()\n",
        ),
        (
            "y = F.interpolate(F.interpolate(x, 5, None, 'nearest-exact'), 3, None, 'nearest-exact')\n",
            "y = F.interpolate(F.interpolate(x.cpu(), 5, None, 'nearest-exact').to(x.device).cpu(), 3, None, "
            "'nearest-exact').npu()\n",
        ),
        (
            "y = F.interpolate(-x, size=3, mode='nearest-exact')\n",
            "y = F.interpolate((-x).cpu(), size=3, mode='nearest-exact').npu()\n",
        ),
    ],
)
def test_resizing_goes_by_the_cpu_and_back(before: str, after: str) -> None:
    text = converted(before)
    assert text.endswith(after)
    assert ("torch_npu" in text) == (".npu()" in after)
    assert converted(text) == text


def test_what_is_resized_in_torchscript_comes_back_as_it_can_there() -> None:
    text = converted(
        "@torch.jit.script\ndef f(x):\n    return F.interpolate(x + 1, size=3, mode='nearest-exact')\n"
    )
    assert "F.interpolate((x + 1).cpu(), size=3, mode='nearest-exact').to(\"npu\")" in text
    assert converted(text) == text


@pytest.mark.parametrize(
    "source",
    [
        "y = F.interpolate(torch.from_numpy(a)[None] + 0.5, size=3, mode='nearest-exact')\n",
        "y = F.interpolate(x + 1, size=3, mode='nearest-exact')[0].numpy()\n",
    ],
)
def test_what_is_on_the_cpu_stays_there(source: str) -> None:
    assert converted(source) == source


def test_the_input_may_be_moved_in_the_same_call() -> None:
    text = converted("y = F.interpolate(x.cuda(), size=3, mode='nearest-exact')\n")
    assert text.endswith("y = F.interpolate(x.npu().cpu(), size=3, mode='nearest-exact').npu()\n")


def test_without_unsafe_it_is_offered_and_the_file_stays() -> None:
    source = "y = F.interpolate(x, size=3, mode='nearest-exact')\n"
    result = run(source, Settings(Target(soc="ascend910a")))
    assert [change.applied for change in result.changes] == [False, False]
    assert len({change.group for change in result.changes}) == 1


@pytest.mark.parametrize(
    "source",
    [
        "y = F.interpolate(*args, mode='nearest-exact')\n",  # the input isn't seen
        "kind = 'nearest-exact'\ny = F.interpolate(x, size=3, mode=kind)\n",
        "y = F.interpolate(x, **{'size': 3, 'mode': 'nearest-exact'})\n",
        "options = dict(size=3, mode='nearest-exact')\ny = F.interpolate(x, **options)\n",
        "from functools import partial\n\nup = partial(F.interpolate, mode='nearest-exact')\n",
        "class Up:\n    def __init__(self, mode='nearest-exact'):\n        self.mode = mode\n\n"
        "    def forward(self, x):\n        return F.interpolate(x, size=3, mode=self.mode)\n",
    ],
)
def test_a_resize_that_cannot_be_rewritten_is_reported(source: str) -> None:
    assert converted(source) == source
    assert rules(source) == {"NPU401"}


def test_the_mode_nearest_takes_no_argument_of_other_modes() -> None:
    nearest = Settings(Target(torch="2.13.0"), unsafe=True, interpolate="nearest")
    source = "y = F.interpolate(x, size=3, mode='lanczos', align_corners=False, antialias=True)\n"
    assert converted(source, nearest) == "y = F.interpolate(x, size=3, mode='nearest')\n"
    commented = (
        "y = F.interpolate(\n    x, 3,  # size\n    mode='lanczos',\n    # smooth\n    antialias=True)\n"
    )
    assert converted(commented, nearest) == commented
    assert rules(commented, nearest) == {"NPU401"}


def test_a_dropped_argument_takes_one_comma_along() -> None:
    assert converted("y = torch.topk(x, sorted=False, k=3)\n") == "y = torch.topk(x, k=3)\n"
    assert converted("y = torch.topk(sorted=False, k=3, input=x)\n") == "y = torch.topk(k=3, input=x)\n"
    assert (
        converted("y = torch.topk(\n    x,\n    3,\n    sorted=False,\n)\n")
        == "y = torch.topk(\n    x,\n    3,\n)\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\n\nvolume = np.linalg.det(x)\n",
        "class Box:\n    def inverse(self):\n        return self\n\n\nBox().inverse()\n",
        "import scipy\n\nbest = fit.det()\n",  # arrays of another library are about
        "self.inverse()\n",
    ],
)
def test_methods_of_other_objects_are_none_of_torch(source: str) -> None:
    assert "NPU441" not in rules(source)


def test_a_mask_is_fatal_on_one_chip_only() -> None:
    source = "x = torch.rand(4)\nx[x > 0] = 1\n"
    severities = {
        soc: [finding.severity for finding in run(source, Settings(Target(soc=soc))).findings]
        for soc in ("ascend310p", "ascend910b")
    }
    assert severities == {"ascend310p": [Severity.BLOCKER], "ascend910b": [Severity.INFO]}


def test_an_operator_is_named_by_its_name_in_aten() -> None:
    (finding,) = run("v = torch.linalg.eigh(x)\n").findings
    assert finding.advice.startswith("aten::_linalg_eigh: ")


def test_attributes_that_are_made_of_each_other_come_to_an_end() -> None:
    source = "class Pair:\n    def swap(self, new):\n        new.a, = self.b.expand(2),\n"
    source += "        new.a = self.b.expand(2)\n        new.b = self.a.expand(2)\n        self.a.nonzero()\n"
    assert run(source).error is None


@pytest.mark.parametrize(
    "source",
    [
        "y = F.interpolate(x, size=3, mode='nearest-exact')  # cuda2npu: ignore\n",
        "y = F.interpolate(\n    x,\n    size=3,\n    mode='nearest-exact',\n)  # cuda2npu: ignore[NPU401]\n",
        "y = torch.topk(\n    x,\n    3,\n    sorted=False,  # cuda2npu: ignore[NPU422]\n)\n",
        "y = torch.load('b')  # cuda2npu: ignore\n",
    ],
)
def test_a_comment_holds_for_what_is_inserted_and_dropped(source: str) -> None:
    result = run(source)
    assert not [change for change in result.changes if change.applied]
    assert [finding.rule for finding in result.findings] == []
