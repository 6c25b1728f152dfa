"""How much is known about the use of a value."""

from __future__ import annotations

from enum import IntEnum


class Use(IntEnum):
    """What is known about the use of a value; the stronger one wins."""

    UNKNOWN = 0
    GUESS = 1  # handed by position to a function that isn't in sight
    NAMED = 2  # what holds it is called device (or backend)
    OTHER = 3  # it belongs to a library with devices of its own
    PROVEN = 4  # it reaches a parameter, or is compared with a value, that is a device (or backend)
