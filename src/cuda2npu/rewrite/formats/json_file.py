"""JSON without comments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cuda2npu.rewrite.formats.comments import NONE
from cuda2npu.rewrite.formats.configuration import Format, UnreadableError, Value
from cuda2npu.rewrite.formats.json_spans import Node, Object, String, parse


class Json(Format):
    """One JSON value. A list at the top is data, and no configuration."""

    comments = NONE

    def values(self, text: str) -> Iterator[Value]:
        _load(text)
        document = parse(text)
        if isinstance(document, Mapping):
            yield from _values(text, document, (), -1, 0, False)

    def outline(self, text: str) -> Sequence[object]:
        out: list[object] = []
        pending = [_load(text)]
        while pending:
            item = pending.pop()
            if isinstance(item, (list, tuple)):
                out.append((type(item).__name__, len(item)))
                pending.extend(reversed(item))
            else:
                out.append(item if isinstance(item, str) else repr(item))  # NaN isn't equal to itself
        return out


def _load(text: str) -> object:
    """Return the document, with a tuple of pairs for each object, so that no key is lost."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: tuple(pairs))
    except ValueError as error:
        raise UnreadableError(str(error)) from None


def _values(
    text: str, node: Node, keys: tuple[str, ...], key_start: int, group: int, twice: bool
) -> Iterator[Value]:
    if isinstance(node, String):
        if text[node.start : node.end] == node.value:  # no escapes
            yield Value(keys, node.value, node.start, node.end, key_start, group, twice)
    elif isinstance(node, Object):
        counts = Counter(key.value for key, _ in node.pairs)
        for key, value in node.pairs:
            start = key.start if text[key.start : key.end] == key.value else -1
            again = twice or counts[key.value] > 1
            yield from _values(text, value, (*keys, key.value), start, id(node), again)
    elif isinstance(node, Sequence):
        for item in node:
            yield from _values(text, item, keys, -1, 0, twice)
