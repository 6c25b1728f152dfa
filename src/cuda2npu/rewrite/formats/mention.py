"""Files that aren't converted but mention CUDA are named, so that nothing is silent."""

from __future__ import annotations

import codecs
import re
from bisect import bisect
from collections.abc import Sequence

from cuda2npu.catalog.grades import Severity
from cuda2npu.catalog.load import load_catalog
from cuda2npu.rewrite.change import FileResult, Finding, Status
from cuda2npu.rewrite.words import cuda_words
from cuda2npu.settings import Settings

RULE = "NPU903"
_MOST_WORDS = 200
_MOST_LINES = 10
_OWN_REPORT = "cuda2npu-report/"
MAX_SIZE = 1 << 20  # bytes; configurations and scripts are smaller, data sets aren't

# Scripts, configurations and sources that no format converts, and templates of any kind.
_NAMES = re.compile(
    r"(?:.*/)?(?:[^/]*\.(?:csh|tcsh|fish|pbs|lsf|bat|ps1|conf|jsonc|json5|gin|hocon|properties|service|tf|tfvars|def"
    r"|pyx|pxd|j2|jinja2?|tmpl|template|tpl|\w+\.in)"
    r"|Jenkinsfile|justfile|Procfile|Pipfile|MLproject)",
    re.I,
)


def may_mention_cuda(path: str) -> bool:
    """Whether a file that no format is for is code or a configuration by its name, and not data."""
    return _NAMES.fullmatch(path) is not None


def mention(
    data: bytes,
    path: str,
    settings: Settings,
    code: str = RULE,
    reason: str = "",
    records: Sequence[tuple[int, int]] = (),
) -> FileResult | None:
    """Return a result with one finding if the file has a CUDA word, else None.

    :param code: the rule that says why these lines stay.
    :param reason: what is the matter with the file.
    :param records: where the text holds data and texts for people, in order; nobody has to change those.
    """
    utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if utf_16 else "utf-8", "replace")
    if "\0" in text:
        return None
    if _OWN_REPORT in text[:200]:
        return None
    found = list(cuda_words(text))
    rule = load_catalog(settings.rules).rules[code]
    if not found or not settings.selects(code, rule.default):
        return None
    start = text.rfind("\n", 0, found[0]) + 1
    end = text.find("\n", found[0])
    lines = sorted({text.count("\n", 0, offset) + 1 for offset in found[:_MOST_WORDS]})
    more = ", …" if len(lines) > _MOST_LINES or len(found) > _MOST_WORDS else ""
    numbers = ", ".join(map(str, lines[:_MOST_LINES])) + more
    message = f"{rule.summary.in_language(settings.lang)} {numbers}"
    if reason:
        message = f"{message} ({reason})"
    advice = rule.advice.in_language(settings.lang)
    starts = [first for first, _ in records]
    inside = (bisect(starts, offset) - 1 for offset in found)
    is_data = all(at >= 0 and offset < records[at][1] for at, offset in zip(inside, found))
    severity = Severity.INFO if is_data else rule.severity
    finding = Finding(code, severity, start, end if end >= 0 else len(text), message, advice)
    return FileResult(path, Status.UNCHANGED, "utf-8", text=text, findings=[finding])
