"""Scopes and qualified names."""

from __future__ import annotations

import libcst as cst
import pytest

from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.tree import dotted


def qualified(source: str, chain: str, package: str = "", number: int = -1) -> set[str]:
    """Return what the ``number``-th use of the dotted ``chain`` in ``source`` stands for."""
    names = Names(cst.parse_module(source), package)
    uses = [node for node in (*names.nodes(cst.Attribute), *names.nodes(cst.Name)) if dotted(node) == chain]
    order = [names.uses[_root(node)].order for node in uses]
    uses = [node for _, node in sorted(zip(order, uses), key=lambda pair: pair[0])]
    return set(names.qualified(uses[number]))


def _root(node: cst.CSTNode) -> cst.Name:
    while isinstance(node, cst.Attribute):
        node = node.value
    assert isinstance(node, cst.Name)
    return node


@pytest.mark.parametrize(
    ("source", "chain", "expected"),
    [
        ("import torch\ntorch.cuda.Event()", "torch.cuda.Event", {"torch.cuda.Event"}),
        ("import torch as th\nth.cuda", "th.cuda", {"torch.cuda"}),
        ("import torch.cuda\ntorch.cuda", "torch.cuda", {"torch.cuda"}),
        ("import torch.cuda as tc\ntc.Event", "tc.Event", {"torch.cuda.Event"}),
        ("from torch import cuda\ncuda.Event", "cuda.Event", {"torch.cuda.Event"}),
        ("from torch.cuda import amp as a\na.autocast", "a.autocast", {"torch.cuda.amp.autocast"}),
        ("import torch\ntc = torch.cuda\ntc.Event", "tc.Event", {"torch.cuda.Event"}),
        ("import torch\na = torch.cuda if x else torch.cpu\na.E", "a.E", {"torch.cuda.E", "torch.cpu.E"}),
        ("torch.cuda", "torch.cuda", set()),
        ("def f(torch):\n    torch.cuda", "torch.cuda", set()),
        ("import torch\ndef f(torch):\n    torch.cuda", "torch.cuda", set()),
        ("import torch\ndef f():\n    torch.cuda", "torch.cuda", {"torch.cuda"}),
        (
            "import torch\nclass A:\n    torch = 1\n    def f(self):\n        torch.cuda",
            "torch.cuda",
            {"torch.cuda"},
        ),
        ("import torch\nclass A:\n    torch = 1\n    x = torch.cuda", "torch.cuda", set()),
        ("import torch\nx = [torch.cuda for torch in y]", "torch.cuda", set()),
        ("import torch\nx = [t for t in torch.cuda]", "torch.cuda", {"torch.cuda"}),
        ("import torch\nf = lambda torch: torch.cuda", "torch.cuda", set()),
        (
            "def f():\n    global torch\n    import torch\ndef g():\n    torch.cuda",
            "torch.cuda",
            {"torch.cuda"},
        ),
        (
            "def f():\n    import torch\n    def g():\n        nonlocal torch\n        torch.cuda",
            "torch.cuda",
            {"torch.cuda"},
        ),
        (
            "try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.cuda",
            "torch.cuda",
            {"torch.cuda"},
        ),
        ("import torch\nif (n := torch.cuda): pass\nn.E", "n.E", {"torch.cuda.E"}),
        ("import torch\nwith x as torch: torch.cuda", "torch.cuda", set()),
        ("import torch\nfor torch in x: torch.cuda", "torch.cuda", set()),
        ("import torch\nmatch x:\n    case torch: torch.cuda", "torch.cuda", set()),
        ("import torch, os\na, b = torch.cuda, os\na.E", "a.E", {"torch.cuda.E"}),
    ],
)
def test_qualified(source: str, chain: str, expected: set[str]) -> None:
    assert qualified(source, chain) == expected


def test_a_later_binding_hides_an_earlier_one() -> None:
    source = "import torch, time\nclock = torch.cuda\nclock.sync\nclock = time\nclock.sync"
    assert qualified(source, "clock.sync", number=0) == {"torch.cuda.sync"}
    assert qualified(source, "clock.sync", number=1) == {"time.sync"}


def test_a_binding_in_a_branch_does_not_hide() -> None:
    source = "from torch.cuda import amp\nif old:\n    from apex import amp\namp.f"
    assert qualified(source, "amp.f") == {"torch.cuda.amp.f", "apex.amp.f"}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("from . import cuda", "pkg.sub.cuda"),
        ("from .. import cuda", "pkg.cuda"),
        ("from ..ops import cuda", "pkg.ops.cuda"),
    ],
)
def test_relative_imports(statement: str, expected: str) -> None:
    assert qualified(f"{statement}\ncuda.f", "cuda.f", package="pkg.sub") == {f"{expected}.f"}


def test_a_relative_import_at_the_top_is_never_torchs() -> None:
    assert qualified("from .torch import cuda\ncuda.f", "cuda.f") == {"..torch.cuda.f"}


def test_type_parameters_and_aliases_bind() -> None:
    source = "import torch\ndef f[torch](x: torch): return torch.cuda\n"
    assert qualified(source, "torch.cuda") == set()


def test_references_follow_scopes() -> None:
    module = cst.parse_module("from torch import cuda\ncuda.a\ndef f(cuda): cuda.b\ndef g(): cuda.c\n")
    names = Names(module)
    (binding,) = names.imports
    assert len(names.references(binding)) == 2
