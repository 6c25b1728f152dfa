"""Order of version numbers as PyTorch, torch_npu, CANN and Python write them."""

from __future__ import annotations

import re

# Major, minor, patch; then -1 before the release, 0 the release, 1 after it; then the number of that.
Order = tuple[int, int, int, int, int]

_PACKAGE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[.-]?(post|rc|a|b|dev)(\d*))?", re.IGNORECASE)
_CANN = re.compile(r"(\d+)\.(\d+)\.(?:RC(\d+)|(\d+))(?:[.-]?(?:alpha|beta)(\d+))?", re.IGNORECASE)


def order(version: str) -> Order | None:
    """Return what sorts the version of a Python package, or None if it isn't one."""
    match = _PACKAGE.match(version)
    if not match:
        return None
    stage = {None: 0, "post": 1}.get(match[4].lower() if match[4] else None, -1)
    return int(match[1]), int(match[2]), int(match[3] or 0), stage, int(match[5] or 0)


def release(version: str) -> str:
    """Return the release that a version belongs to: ``2.7.1`` for ``2.7.1.post8`` and ``2.7.1+cpu``."""
    match = re.match(r"\d+(?:\.\d+){0,2}", version)
    return match[0] if match else version


def minor(version: str) -> str:
    """Return ``2.7`` for ``2.7.1``."""
    return ".".join(version.split("+")[0].split(".")[:2])


def cann_order(version: str) -> Order | None:
    """Return what sorts a CANN version such as ``8.2.RC1``, ``8.5.0`` or ``8.3.RC1.alpha002``."""
    match = _CANN.match(version)
    if not match:
        return None
    before = int(match[5]) - 1000 if match[5] else 0
    if match[3]:
        return int(match[1]), int(match[2]), -1, int(match[3]), before
    return int(match[1]), int(match[2]), int(match[4]), 0, before
