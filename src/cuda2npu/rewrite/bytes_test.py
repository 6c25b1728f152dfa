"""The quick test that decides, without decoding or parsing, whether a Python file can concern us."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from cuda2npu.catalog.load import load_catalog
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.rewrite.words import mentions_cuda
from cuda2npu.settings import Settings, Target

# From this version on a bare number means the registered PrivateUse1 device, before it CUDA:
# toDevice in torch/csrc/utils/python_arg_parser.h of 2.1.0 and 2.3.1.
NUMBERS_MEAN_NPU = (2, 3)
_TORCH = {"torch", "torch_npu"}
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")


def concerns(data: bytes, settings: Settings, index: ProjectIndex) -> bool:
    """Whether any rule could be about a file with these bytes."""
    if mentions_cuda(data, numbers_mean_cuda=settings.target.version < NUMBERS_MEAN_NPU):
        return True
    rules = tuple(settings.rules)
    names = _users_names(rules) if rules else frozenset()
    if names and not names.isdisjoint(_IDENTIFIER.findall(data)):
        return True
    if _imports(rules).search(data):
        return True
    if b"torch" not in data:
        return False
    if index.cuda_by_default and b"Tensor(" in data:
        return True
    words, pattern = _signs(
        settings.target, tuple(settings.rules), tuple(settings.select), tuple(settings.ignore)
    )
    return not words.isdisjoint(_IDENTIFIER.findall(data)) or (
        pattern is not None and pattern.search(data) is not None
    )


@lru_cache(maxsize=8)
def _imports(rules: Sequence[str]) -> re.Pattern[bytes]:
    """Return the pattern of an import, in quotes in a notebook, of a package that isn't right as it is."""
    rows = load_catalog(rules).rows.values()
    names = {row.name for rule, row in rows if rule.codemod == "package_import" and row.state != "works"}
    found = {name.partition(".")[0] for name in names} - _TORCH  # those have words in their rules
    roots = b"|".join(sorted(root.encode() for root in found))
    return re.compile(
        rb"""(?:^|[;:"])[ \t]*(?:from|import)[ \t][^#\n]*\b(?:%s)\b|"""
        rb"""(?:import_module|__import__|find_spec|find_loader)\([ \t]*["'](?:%s)\b""" % (roots, roots),
        re.M,
    )


@lru_cache(maxsize=8)
def _signs(
    target: Target, rules: Sequence[str], select: Sequence[str], ignore: Sequence[str]
) -> tuple[frozenset[bytes], re.Pattern[bytes] | None]:
    """Return the words and the pattern by which the rules that are on know a file without a CUDA word."""
    settings = Settings(target, rules=rules, select=select, ignore=ignore)
    wanted = [
        rule
        for rule in load_catalog(rules).rules.values()
        if settings.selects(rule.code, rule.default)
        and (not rule.rows or any(row.concerns(target) for row in rule.rows))
    ]
    words = frozenset(word.encode() for rule in wanted for word in rule.words)
    patterns = [f"(?:{rule.pattern})".encode() for rule in wanted if rule.pattern]
    return words, re.compile(b"|".join(patterns), re.M) if patterns else None


@lru_cache(maxsize=8)
def _users_names(rules: Sequence[str]) -> frozenset[bytes]:
    """Return the names that rules of the user's are about; a file that has one needs no torch beside it."""
    users = (rule for rule in load_catalog(rules).rules.values() if rule.file)
    return frozenset(word.encode() for rule in users for word in rule.words)
