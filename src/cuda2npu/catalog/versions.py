"""Version conditions such as ``>=2.7, !=2.9`` on the minor version of PyTorch."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

_CLAUSE = re.compile(r"\s*(>=|<=|!=|==|>|<)\s*(\d+)\.(\d+)\s*")
_COMPARE: dict[str, Callable[[tuple[int, int], tuple[int, int]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def holds(condition: str, version: tuple[int, int]) -> bool:
    """Whether ``version`` (major, minor) meets every clause of ``condition``; an empty one always holds.

    :raises ValueError: if the condition can't be read.
    """
    if not condition:
        return True
    clauses = [_CLAUSE.fullmatch(clause) for clause in condition.split(",")]
    if not all(clauses):
        raise ValueError(f"{condition!r} is not a version condition; write for example '>=2.7, !=2.9'")
    return all(_COMPARE[c[1]](version, (int(c[2]), int(c[3]))) for c in clauses if c)
