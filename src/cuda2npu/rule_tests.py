"""The examples of rules are their tests: each is converted, and what comes out compared with what it says."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cuda2npu.catalog.rules import Example, Rule
from cuda2npu.messages import say
from cuda2npu.rewrite.change import FileResult, Status
from cuda2npu.rewrite.engine import convert
from cuda2npu.rewrite.formats import others
from cuda2npu.rewrite.index import build_index
from cuda2npu.settings import DEFAULT_INTERPOLATE, DEFAULT_SOC, DEFAULT_TORCH, Settings, Target

PRELUDE = "import torch\nimport torch_npu\n"  # what an example stands below, unless it has imports of its own
# Rules that speak for others: of what a version lacks, and of arguments without a counterpart.
_SPEAK_FOR_OTHERS = frozenset({"NPU122", "NPU123"})
_PATH = "main.py"


@dataclass(frozen=True)
class Failure:
    """An example that doesn't hold.

    :param number: which of the rule's examples, from 1.
    :param diff: what was expected and what came out, where they differ.
    """

    code: str
    number: int
    reason: str
    diff: Sequence[str] = ()


def failures(rules: Iterable[Rule], files: Sequence[str], lang: str = "en") -> Iterator[Failure]:
    """Yield the examples of ``rules`` that don't hold.

    :param files: the rule files that the rules stand in, beside those of the package.
    """
    for rule in rules:
        for number, example in enumerate(rule.examples, 1):
            reason, diff = _fault(rule, example, files, lang)
            if reason:
                yield Failure(rule.code, number, reason, diff)


def _fault(rule: Rule, example: Example, files: Sequence[str], lang: str) -> tuple[str, Sequence[str]]:
    """Return what is wrong, and the lines that differ; nothing if the example holds."""
    code = rule.code
    prelude = "" if example.file or "import " in example.source else PRELUDE
    before, expected = prelude + example.source, prelude + example.expected
    result = _converted(before, rule, example, files)
    if result.error is not None:
        return result.error, ()
    text = result.data.decode() or before
    if text != expected:
        return say("test_differs", lang), _difference(expected, text)
    used = {finding.rule for finding in result.findings} | {change.rule for change in result.changes}
    if (example.before or example.reported) and used.isdisjoint({code, *_SPEAK_FOR_OTHERS}):
        others = ", ".join(sorted(used - {"NPU001"})) or "-"
        return say("test_other_rule", lang, code=code, others=others), ()
    if example.kept and code in used:
        return say("test_not_kept", lang, code=code), ()
    again = _converted(text, rule, example, files)
    if again.data and again.data.decode() != text:
        return say("test_again", lang), _difference(text, again.data.decode())
    return "", ()


def _converted(text: str, rule: Rule, example: Example, files: Sequence[str]) -> FileResult:
    data = text.encode()
    target = Target(example.torch or DEFAULT_TORCH, example.soc or DEFAULT_SOC)
    settings = Settings(
        target=target,
        unsafe=example.unsafe,
        select=() if rule.default else (rule.code,),
        rules=tuple(files),
        interpolate=example.interpolate or DEFAULT_INTERPOLATE,
    )
    if example.file:
        return others.convert(data, example.file, settings) or FileResult(example.file, Status.UNCHANGED)
    return convert(data, _PATH, settings, build_index([(_PATH, lambda: data)]))


def _difference(expected: str, found: str) -> Sequence[str]:
    lines = difflib.ndiff(expected.splitlines(), found.splitlines())
    return [line.rstrip() for line in lines if not line.startswith("?")]
