"""Values as every JSON reader takes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any


def strict(value: Any) -> Any:
    """Return the value out of what JSON has, all the way down.

    JSON has no infinity and no nan: they become the words ``inf``, ``-inf`` and ``nan``, which ``float``
    reads, as in a capture. Half a surrogate pair, as in the path of a file whose name isn't UTF-8, becomes a
    question mark. What has no counterpart at all becomes its ``str``.
    """
    if isinstance(value, Enum):
        return strict(value.value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        return {strict(str(name)): strict(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [strict(item) for item in value]
    return strict(str(value))
