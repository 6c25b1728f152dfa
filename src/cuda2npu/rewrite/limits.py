"""Refuses source that would overflow the parser's stack, which no exception handler survives.

LibCST's parser recurses with the code: it was seen to crash at about 4,000 chained calls and 10,000
terms of a sum, and CPython itself refuses more than 200 open brackets.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

_MAX_NESTING = 200  # open brackets
_MAX_LINKS = 2000  # operators, or calls, that hang on each other
_LONG = 4000  # characters; a shorter statement can't have so many links

_BRACKET = re.compile(r"[()\[\]{}]")
_LONG_LINE = re.compile(rf"[^\n]{{{_LONG},}}|(?:[^\n]*\\\n){{{_LONG // 20},}}")
_STRING = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"", re.S)
_LINK = re.compile(r"[-+*/%@&|^.~(\[]|\b(?:and|or|not|if)\b")


class TooDeepError(Exception):
    """The source is nested too deeply; the message says how."""


def check_depth(text: str) -> None:
    """Look for brackets and chains that are too deep.

    :raises TooDeepError: if there are any.
    """
    long_parts = list(_long_parts(text))
    for part in long_parts:
        plain = _STRING.sub("''", part)
        links = max(len(_LINK.findall(element)) for element in plain.split(","))
        if max(links, plain.count(").")) > _MAX_LINKS:
            raise TooDeepError(f"one expression has more than {_MAX_LINKS} operators or calls in a row")


def _long_parts(text: str) -> Iterator[str]:
    """Yield the bracketed parts and the lines of the text that are long; check the brackets on the way."""
    depth = start = 0
    for match in _BRACKET.finditer(text):
        if match[0] in "([{":
            start = match.start() if not depth else start
            depth += 1
            if depth > _MAX_NESTING:
                _check_brackets(text)
        else:
            depth = max(depth - 1, 0)
            if not depth and match.end() - start > _LONG:
                yield text[start : match.end()]
    yield from (match[0] for match in _LONG_LINE.finditer(text))


def _check_brackets(text: str) -> None:
    """Count again, without the brackets that stand in strings and comments."""
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.OP and token.string in "()[]{}":
                depth += 1 if token.string in "([{" else -1
                if depth > _MAX_NESTING:
                    break
    except (tokenize.TokenError, SyntaxError):
        depth = _MAX_NESTING + 1
    if depth > _MAX_NESTING:
        raise TooDeepError(f"brackets are nested more than {_MAX_NESTING} deep")
