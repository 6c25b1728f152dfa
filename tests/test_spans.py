"""Offsets of nodes in the text."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

import cuda2npu
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.spans import Spans

SOURCES = [
    "x = 1",
    "x = 1\n",
    "x = 1\r\ny = (x)\r\n",
    "\n\n# only a comment",
    "",
    "if a:\n\tif b:\n\t\tx = f(  # why\n\t\t\t1,\n\t\t)\n",
    "a = 'ä' ; b = f'{x!r:>{w}} cuda'\n\x0c\ndef f(): pass\n",
    "x = (\n    y\n    .cuda()  # hop\n)\n",
    "class A:\n    '''doc'''\n\n    def f(self): return (yield)\n",
]


@pytest.mark.parametrize(
    "text", [*SOURCES, *(p.read_text() for p in Path(cuda2npu.__file__).parent.rglob("*.py"))]
)
def test_every_name_and_string_is_where_the_span_says(text: str) -> None:
    module = cst.parse_module(text)
    spans = Spans(module, text)
    names = Names(module)
    for kind in (cst.Name, cst.SimpleString, cst.FormattedStringText, cst.Integer):
        for node in names.nodes(kind):
            assert spans.text(node) == node.value


def test_parentheses() -> None:
    text = "x = ((y)).f(  (z) )\n"
    module = cst.parse_module(text)
    spans, names = Spans(module, text), Names(module)
    (call,) = names.nodes(cst.Call)
    assert spans.text(call) == "((y)).f(  (z) )"
    y = names.nodes(cst.Name)[0]
    assert spans.text(y) == "y"
    start, end = spans.whole(y)
    assert text[start:end] == "((y))"


def test_a_text_that_libcst_does_not_reproduce_is_refused() -> None:
    with pytest.raises(ValueError, match="does not reproduce"):
        Spans(cst.parse_module("x = 1\n"), "x = 1\n\n")
