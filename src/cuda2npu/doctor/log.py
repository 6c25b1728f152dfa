"""Finds error codes in a log of any size: it is read in blocks, whatever its lines and bytes are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from cuda2npu.doctor.codes import Codes

BLOCK = 1 << 20  # bytes read at a time
OVERLAP = 512  # bytes; longer than anything that is looked for
CONTEXT = 32  # bytes before a match that are looked at

# ERRxxyyy of torch_npu, and E?nnnn of CANN with the letters of its modules. What must not stand before
# is asked after the first letter, because only a pattern that begins with a letter is searched for fast.
_CODE = re.compile(rb"E(?<!\wE)(?:RR\d{5}|[1-478B-PZ]\d{4})(?!\w)")
# An aclError is only a number, so what stands before it decides: "error code is 507011", "ret[507015]".
_NUMBER = re.compile(rb"[1235](?<=[\s:=\[('\"]\d)\d{5}(?!\w|\.\d)")
_NUMBER_BEFORE = re.compile(
    rb"(?:err(?:or)?[ _-]?(?:code|no)|return[ _-]?(?:code|value)|ret(?:code|val)?|result|aclerror)"
    rb"(?:\s+is)?[\s:=\[('\"]{1,4}\Z",
    re.IGNORECASE,
)
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Hit:
    """One code in a log.

    :param count: how often it stands there.
    :param line: the first line with it, from 1.
    """

    code: str
    count: int
    line: int


@dataclass(frozen=True)
class Scan:
    """What a log holds: number of lines, and codes in order of appearance."""

    path: str
    lines: int
    hits: tuple[Hit, ...]


def scan(path: str, stream: BinaryIO, table: Codes) -> Scan:
    """Read a log to its end.

    :param path: what it is called.
    :raises OSError: if it can't be read.
    """
    first: dict[str, tuple[int, int]] = {}  # code -> line and offset in the log, for the order
    counts: dict[str, int] = {}
    buffer, start, offset, newlines = b"", 0, 0, 0  # what lies before ``start`` was searched already
    ended_with_newline = True
    while True:
        block = stream.read(BLOCK)
        if block:
            ended_with_newline = block.endswith(b"\n")
        buffer += block
        if b"\x1b[" in buffer:
            buffer = buffer[:start] + _COLOUR.sub(b"", buffer[start:])
        end = len(buffer) if not block else max(start, len(buffer) - OVERLAP)
        for code, at in _matches(buffer, start, end, table):
            if code not in first or offset + at < first[code][1]:
                first[code] = newlines + buffer.count(b"\n", start, at) + 1, offset + at
            counts[code] = counts.get(code, 0) + 1
        newlines += buffer.count(b"\n", start, end)
        if not block:
            break
        kept = max(0, end - CONTEXT)
        offset += kept
        buffer, start = buffer[kept:], end - kept
    ordered = sorted(first, key=lambda code: first[code][1])
    hits = tuple(Hit(code, counts[code], first[code][0]) for code in ordered)
    return Scan(path, newlines + (not ended_with_newline), hits)


def _matches(buffer: bytes, start: int, end: int, table: Codes) -> Iterator[tuple[str, int]]:
    """Yield each code that begins in ``buffer[start:end]``, with its place."""
    for found in _CODE.finditer(buffer, start):
        if found.start() >= end:
            break
        yield found[0].decode(), found.start()
    for found in _NUMBER.finditer(buffer, start):
        if found.start() >= end:
            break
        if _NUMBER_BEFORE.search(buffer, max(0, found.start() - CONTEXT), found.start()):
            yield found[0].decode(), found.start()
    for phrase in table.phrases:
        if buffer.find(phrase.needle, start) < 0:
            continue
        for found in phrase.pattern.finditer(buffer, start):
            if found.start() >= end:
                break
            yield phrase.code, found.start()
