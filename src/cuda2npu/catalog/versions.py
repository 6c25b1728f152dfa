"""Version conditions such as ``>=2.7, !=2.9`` on the minor version of PyTorch."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

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


def columns(known: Sequence[tuple[int, int]], version: tuple[int, int]) -> tuple[int, ...]:
    """Return the positions in ``known``, oldest first, of the versions that ``version`` is judged by.

    One that stands between two of them has what both have; one that is newer than all counts as the newest.

    :raises ValueError: if the version is older than all of them.
    """
    if version < known[0]:
        raise ValueError(
            "nothing is known of torch_npu {}.{}; the oldest is {}.{}".format(*version, *known[0])
        )
    below = max(column for column, listed in enumerate(known) if listed <= version)
    return (below,) if known[below] == version or version > known[-1] else (below, below + 1)
