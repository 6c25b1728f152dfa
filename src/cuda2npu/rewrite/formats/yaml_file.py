"""YAML, read by PyYAML down to its nodes; objects are never made from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import yaml

from cuda2npu.rewrite.formats.configuration import Format, UnreadableError, Value

# The loaders differ in speed only: the places are the same.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A place of a template of Jinja or Helm; ${{ … }} is an expression in a value, in GitHub's workflows.
_TEMPLATE = re.compile(r"(?<!\$)\{\{|\{%")


class Yaml(Format):
    """One or more YAML documents, with anchors, aliases and merge keys."""

    def values(self, text: str) -> Iterator[Value]:
        try:
            _refuse_template(yaml.parse(text, Loader=_Loader))
            documents = list(yaml.compose_all(text, Loader=_Loader))
        except yaml.YAMLError as error:
            hint = ", in a template" if _TEMPLATE.search(text) else ""
            raise UnreadableError(_reason(error) + hint) from None
        walk = _Walk(text)
        for document in documents:
            if document is not None:
                yield from walk.node(document, (), -1, False)

    def outline(self, text: str) -> Sequence[object]:
        try:
            events = list(yaml.parse(text, Loader=_Loader))
        except yaml.YAMLError as error:
            raise UnreadableError(_reason(error)) from None
        return [
            event.value
            if isinstance(event, yaml.ScalarEvent)
            else (type(event).__name__, getattr(event, "anchor", None), getattr(event, "tag", None))
            for event in events
        ]


def _refuse_template(events: Iterable[yaml.Event]) -> None:
    """Refuse a text that has to be filled in before it is YAML; quoted and long texts may hold anything."""
    before: yaml.Event | None = None
    for event in events:
        plain = event.value if isinstance(event, yaml.ScalarEvent) and event.style is None else ""
        braces = isinstance(before, yaml.MappingStartEvent) and isinstance(event, yaml.MappingStartEvent)
        if braces or _TEMPLATE.search(plain):
            line = event.start_mark.line + 1 if event.start_mark is not None else 0
            raise UnreadableError(f"line {line}: a template, {{{{ … }}}}")
        before = event


def _reason(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).split("\n")[0]
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem


class _Walk:
    """The walk over the nodes: what an alias stands for is walked again, under the keys of the alias."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.seen: set[tuple[int, tuple[str, ...], bool]] = set()

    def node(self, node: yaml.Node, keys: tuple[str, ...], key_start: int, twice: bool) -> Iterator[Value]:
        # Two keys decide about a value, so a node that aliases lead to again is looked at once for each two.
        mark = (id(node), keys[-2:], twice)
        if mark in self.seen:
            return
        self.seen.add(mark)
        if isinstance(node, yaml.ScalarNode):
            span = self._span(node)
            if span is not None:
                yield Value(keys, node.value, *span, key_start, 0, twice)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield from self.node(item, keys, -1, twice)
        elif isinstance(node, yaml.MappingNode):
            yield from self._mapping(node, keys, twice)

    def _mapping(self, node: yaml.MappingNode, keys: tuple[str, ...], twice: bool) -> Iterator[Value]:
        names = [key.value if isinstance(key, yaml.ScalarNode) else "" for key, _ in node.value]
        counts = Counter(names)
        for (key, value), name in zip(node.value, names):
            if name == "defaults" and not keys and isinstance(value, yaml.SequenceNode):
                continue  # Hydra's list: what stands there are names of files
            if name == "<<":
                yield from self.node(value, keys, -1, twice)
                continue
            span = self._span(key) if isinstance(key, yaml.ScalarNode) else None
            start = span[0] if span is not None else -1
            again = twice or counts[name] > 1
            if isinstance(value, yaml.ScalarNode):
                inside = self._span(value)
                if inside is not None:
                    yield Value((*keys, name), value.value, *inside, start, id(node), again)
            else:
                yield from self.node(value, (*keys, name), start, again)

    def _span(self, node: yaml.ScalarNode) -> tuple[int, int] | None:
        """Return where a value stands, without quotes, tag and anchor; None for one with escapes."""
        end = node.end_mark.index - (1 if node.style in ("'", '"') else 0)
        start = end - len(node.value)
        if node.style in ("|", ">") or self.text[start:end] != node.value:
            return None
        return start, end
