"""Files that aren't converted but mention CUDA are named, so that nothing is silent."""

from __future__ import annotations

import re

from cuda2npu.catalog.rules import load_catalog
from cuda2npu.rewrite.change import FileResult, Finding, Status
from cuda2npu.rewrite.words import CUDA_WORD
from cuda2npu.settings import Settings

RULE = "NPU903"
_MOST_WORDS = 200
_MOST_LINES = 10
_OWN_NAME = re.compile(r"cuda2npu", re.I)  # our own configuration is no use of CUDA
_OWN_REPORT = "cuda2npu-report/"
MAX_SIZE = 1 << 20  # bytes; configurations and scripts are smaller, data sets aren't

_NAMES = re.compile(
    r"(?:.*/)?(?:[^/]*\.(?:sh|bash|slurm|sbatch|ya?ml|toml|cfg|ini|conf|env|json|cu|cuh|cmake|bat|ps1)"
    r"|Dockerfile[^/]*|[^/]*\.dockerfile|(?:[^/]*requirements[^/]*|constraints)\.txt|Makefile|CMakeLists\.txt)",
    re.I,
)


def may_mention_cuda(path: str) -> bool:
    """Whether a file of this name is code or a configuration, and not data."""
    return _NAMES.fullmatch(path) is not None


def mention(data: bytes, path: str, settings: Settings) -> FileResult | None:
    """Return a result with one finding if the file has a CUDA word, else None."""
    text = data.decode("utf-8", "replace") if b"\0" not in data else ""
    if _OWN_REPORT in text[:200]:
        return None
    found = [match.start() for match in CUDA_WORD.finditer(text) if not _OWN_NAME.match(text, match.start())]
    rule = load_catalog(settings.rules).rules[RULE]
    if not found or not settings.selects(RULE, rule.default):
        return None
    start = text.rfind("\n", 0, found[0]) + 1
    end = text.find("\n", found[0])
    lines = sorted({text.count("\n", 0, offset) + 1 for offset in found[:_MOST_WORDS]})
    more = ", …" if len(lines) > _MOST_LINES or len(found) > _MOST_WORDS else ""
    numbers = ", ".join(map(str, lines[:_MOST_LINES])) + more
    message = f"{rule.summary.in_language(settings.lang)} {numbers}"
    advice = rule.advice.in_language(settings.lang)
    finding = Finding(RULE, rule.severity, start, end if end >= 0 else len(text), message, advice)
    return FileResult(path, Status.UNCHANGED, "utf-8", text=text, findings=[finding])
