"""Where each LibCST node stands in the text, as character offsets.

LibCST's position providers cost more than the parse. Code generation alone costs a quarter of it, so
the offsets are noted while LibCST generates the code that it then throws away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import libcst as cst
from libcst._nodes.internal import CodegenState


class Span(NamedTuple):
    """Half-open range of characters."""

    start: int
    end: int


class Spans:
    """The spans of all nodes of a module.

    :raises ValueError: if LibCST doesn't reproduce ``text`` from ``module`` exactly, so that offsets
        would be wrong.
    """

    def __init__(self, module: cst.Module, text: str) -> None:
        self._text = text
        self._recorder = _Recorder(module.default_indent, module.default_newline)
        module._codegen(self._recorder)
        if self._recorder.offset != len(text):
            raise ValueError("LibCST does not reproduce this file exactly")

    def __getitem__(self, node: cst.CSTNode) -> Span:
        """Return the span of ``node`` without its own parentheses and without white space around it."""
        return Span(self._recorder.start[node], self._recorder.end[node])

    def whole(self, node: cst.CSTNode) -> Span:
        """Return the span of an expression with its own parentheses."""
        return Span(self._recorder.outer_start[node], self._recorder.outer_end[node])

    def text(self, node: cst.CSTNode) -> str:
        """Return the source text of ``node`` as it stands in the file."""
        start, end = self[node]
        return self._text[start:end]


class _Recorder(CodegenState):
    """Counts the characters that are generated and notes the count around every node."""

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent=default_indent, default_newline=default_newline)
        self.offset = 0
        self.indent = 0
        self.start: dict[cst.CSTNode, int] = {}
        self.end: dict[cst.CSTNode, int] = {}
        self.outer_start: dict[cst.CSTNode, int] = {}
        self.outer_end: dict[cst.CSTNode, int] = {}

    def increase_indent(self, value: str) -> None:
        super().increase_indent(value)
        self.indent += len(value)

    def decrease_indent(self) -> None:
        self.indent -= len(self.indent_tokens[-1])
        super().decrease_indent()

    def add_indent_tokens(self) -> None:
        self.offset += self.indent

    def add_token(self, value: str) -> None:
        # LibCST looks at the tokens only to see whether the last one is a newline too many.
        self.tokens[:] = [value]
        self.offset += len(value)

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            self.offset -= len(self.tokens.pop())

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.start[node] = self.outer_start[node] = self.offset

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.outer_end[node] = self.offset
        self.end.setdefault(node, self.offset)

    @contextmanager
    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Iterator[None]:
        start = self.offset
        yield
        self.start[node] = start if start_node is None else self.start[start_node]
        self.end[node] = self.offset if end_node is None else self.end[end_node]
