"""Advice on speed: given when asked for, on the chips that have the operator, not for look-alikes."""

from __future__ import annotations

import re

import pytest

from cuda2npu.catalog.api import api_table
from cuda2npu.catalog.load import load_catalog
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.settings import Settings, Target

RULES = [rule for rule in load_catalog().rules.values() if rule.code.startswith("NPU8")]
HEAD = "import torch\nimport torch.nn.functional as F\n"
ATTENTION = "att = (q @ k.transpose(-2, -1)) * s\natt = F.softmax(att, dim=-1)\ny = att @ v\n"


def codes(source: str, soc: str = "ascend910b", select: tuple[str, ...] = ("NPU8",)) -> list[str]:
    settings = Settings(target=Target(soc=soc), select=select)
    result = convert((HEAD + source).encode(), "a.py", settings, ProjectIndex())
    assert result.error is None
    assert not any(change.applied for change in result.changes)
    return [finding.rule for finding in result.findings]


def test_nothing_is_said_unless_it_is_asked_for():
    assert codes(ATTENTION) == ["NPU801"]
    assert codes(ATTENTION, select=()) == []
    assert codes(ATTENTION, select=("NPU802",)) == []


def test_only_advice_is_given_when_it_is_asked_for():
    assert codes(ATTENTION + "x = torch.ones(1).cuda()\n") == ["NPU801"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_rules_are_off_by_default_and_only_good_to_know(rule):
    assert not rule.default
    assert rule.severity.value == "info"
    assert rule.words or rule.pattern  # or a file without a CUDA word is never looked at
    assert "\n" not in rule.advice.en + rule.advice.zh


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_names_that_the_advice_gives_exist(rule):
    texts = [rule.advice, rule.why, *(row.note for row in rule.rows)]
    names = {
        name.rstrip(".")
        for text in texts
        for name in re.findall(r"\b(?:torch_npu|torch\.npu)\.[A-Za-z0-9_.]+", f"{text.en}\n{text.zh}")
    }
    assert [name for name in names if not api_table((2, 7)).has(name)] == []


@pytest.mark.parametrize(
    ("soc", "expected"),
    [("ascend910b", ["NPU801"]), ("ascend950", ["NPU801"]), ("ascend910a", []), ("ascend310p", [])],
)
def test_attention_on_the_chips_that_have_it(soc, expected):
    assert codes(ATTENTION, soc) == expected


@pytest.mark.parametrize(
    "source",
    [
        "y = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1), v)\n",
        "s = torch.matmul(q, k.mT)\nif m is not None:\n    s = s + m\n"
        "y = torch.matmul(torch.softmax(s.float(), -1).type_as(q), v)\n",
        "k = k.transpose(-1, -2)\nw = torch.softmax(q.matmul(k) / 8, dim=-1)\ny = w.matmul(v)\n",
        "class A:\n    def f(self, q, k, v):\n        w = self.softmax(q @ k.transpose(-2, -1))\n"
        "        return self.drop(w) @ v\n",
    ],
)
def test_attention_in_other_words(source):
    assert codes("def g(q, k, v, m):\n" + re.sub("^", "    ", source, flags=re.M).rstrip() + "\n") == [
        "NPU801"
    ]


@pytest.mark.parametrize(
    "source",
    [
        "y = torch.softmax(x @ w, dim=-1) @ v\n",  # a mixture, not scores of two sequences
        "y = torch.sigmoid(q @ k.transpose(-2, -1)) @ v\n",
        "w = torch.softmax(q @ k.transpose(-2, -1), -1)\ny = w * v\n",
        "y = v @ torch.softmax(x, -1)\n",
        "att = q @ k.transpose(-2, -1)\natt = other(att)\ny = att @ v\n",
    ],
)
def test_what_looks_like_attention(source):
    assert codes(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = x * torch.rsqrt((x ** 2).mean(-1, keepdim=True) + e)\n", ["NPU802"]),
        ("y = x * (x.square().mean(dim=-1, keepdim=True) + e).rsqrt()\n", ["NPU802"]),
        ("y = x * torch.rsqrt(x.pow(3).mean(-1) + e)\n", []),
        ("y = x * torch.rsqrt(x.pow(2).mean() + e)\n", []),
        ("y = x * torch.rsqrt((x - m).pow(2).mean(-1) + e)\n", []),
        ("y = torch.sqrt(x.pow(2).mean(-1))\n", []),
        ("y = F.silu(a(x)) * b(x)\n", ["NPU804"]),
        ("g = F.silu(a(x))\ny = g * b(x)\n", ["NPU804"]),
        ("a, b = torch.chunk(x, 2, dim=-1)\ny = b * F.silu(a)\n", ["NPU804"]),
        ("y = F.silu(a(x)) * 2\n", []),
        ("y = F.silu(x) * scale\n", []),
        ("y = F.relu(a(x)) * b(x)\n", []),
        ("a, g = x.chunk(2, -1)\ny = F.gelu(g) * a\n", ["NPU805"]),
        ("a, g = x.chunk(2, -1)\nc, d = x.chunk(2, -1)\ny = F.gelu(g) * c\n", []),
        ("q = q * c + rotate_half(q) * s\n", ["NPU803"]),
        ("q = q * c + rotate_half(q) + s\n", []),
        ("for e in range(num_experts):\n    run(e)\n", []),
    ],
)
def test_other_patterns_and_what_looks_like_them(source, expected):
    assert codes(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for x in data:\n    f(x).backward()\n    n += g(x).cpu().numpy()\n", ["NPU813"]),
        ("for x in data:\n    f(x).backward()\n    n.append(loss.cpu())\n", ["NPU813"]),
        ("while True:\n    f(x).backward()\n    a = loss.item(), acc.item()\n", ["NPU813", "NPU813"]),
        ("for x in data:\n    f(x).backward()\n    log(lambda: loss.item())\n", []),
        ("for x in data:\n    f(x).backward()\n    for y in x:\n        y.item()\n", []),
        ("for x in data:\n    n += loss.item()\n", []),
    ],
)
def test_waiting_in_every_step(source, expected):
    assert codes(source) == expected


def test_a_program_for_a_chip_that_compiles_its_operators():
    program = 'if __name__ == "__main__":\n    main()\n'
    assert codes(program, "ascend310p") == ["NPU821"]
    assert codes(program, "ascend910a") == ["NPU821"]
    assert codes(program) == []
