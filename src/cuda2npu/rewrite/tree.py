"""Walking a LibCST tree without its white space: what the analysis needs is a tenth of the nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import libcst as cst

# Fields that hold white space and punctuation, in any node.
_TRIVIA = {
    "comma", "colon", "dot", "equal", "operator", "separator", "semicolon", "asynchronous", "indent",
    "header", "footer", "leading_lines", "lines_after_decorators", "trailing_comma", "first_colon",
    "second_colon", "lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "posonly_ind",
}  # fmt: skip


@cache
def _fields(node_type: type[cst.CSTNode]) -> tuple[str, ...]:
    names = (field.name for field in dataclasses.fields(node_type))
    return tuple(name for name in names if name not in _TRIVIA and "whitespace" not in name)


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the child nodes of ``node`` that carry meaning, in the order of their fields."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from value


def dotted(node: cst.CSTNode | None) -> str | None:
    """Return ``a.b.c`` for a plain chain of names, else None."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    parts.append(node.value)
    return ".".join(reversed(parts))


def written(node: cst.SimpleString) -> str | None:
    """Return what stands between the quotes, if that is the very value: a text without escapes."""
    same = node.raw_value == node.evaluated_value or "r" in node.prefix
    return node.raw_value if same and "b" not in node.prefix else None


def start_of_text(node: cst.SimpleString) -> int:
    """Return the offset of what stands between the quotes within the literal."""
    return len(node.prefix) + len(node.quote)


def string_value(node: cst.CSTNode | None) -> str | None:
    """Return the value of a plain string literal, adjacent pieces joined; None for anything else."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def takes_text_apart(node: cst.CSTNode | None) -> bool:
    """Whether ``node`` calls a method that takes a text apart, of which the first part is the word."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    return node.func.attr.value in ("partition", "rpartition", "split", "rsplit")


def argument(call: cst.Call, position: int | None, keyword: str | None) -> cst.Arg | None:
    """Return the argument of ``call`` at ``position`` (from 0) or with ``keyword``, if it can be told.

    Behind a starred argument positions can't be told any more.
    """
    for index, arg in enumerate(call.args):
        if arg.star:
            if arg.star == "*":
                position = None
            continue
        if arg.keyword is not None:
            if arg.keyword.value == keyword:
                return arg
        elif index == position:
            return arg
    return None


def parameters(params: cst.Parameters) -> Iterator[cst.Param]:
    """Yield the parameters in the order in which they stand."""
    yield from params.posonly_params
    yield from params.params
    if isinstance(params.star_arg, cst.Param):
        yield params.star_arg
    yield from params.kwonly_params
    if params.star_kwarg is not None:
        yield params.star_kwarg
