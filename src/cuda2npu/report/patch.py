"""The changes of a file as a patch that ``git apply`` takes, byte for byte."""

from __future__ import annotations

import codecs
import difflib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cuda2npu.rewrite.change import FileResult, Status

CONTEXT = 3  # lines around a change, as git shows them
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_UNUSUAL = re.compile(rb"[^ !#-\[\]-~]")  # all but printable ASCII, and quote and backslash

Lines = Sequence[bytes]


class Block(NamedTuple):
    """Lines ``old:old_end`` of the original, which became ``new:new_end``; counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


def file_patch(result: FileResult) -> bytes:
    """Return the patch that turns the original of ``result`` into what was written; empty if unchanged.

    It is made from the changes themselves: comparing both texts would take minutes for some long
    files. Lines end at ``\\n`` only, as git sees them, and keep their encoding and carriage returns.
    """
    if result.status is not Status.CHANGED:
        return b""
    old, new = _lines(_original(result)), _lines(result.data)
    narrow = (_without_equal_ends(block, old, new) for block in _blocks(result))
    blocks = [block for block in narrow if block.old < block.old_end or block.new < block.new_end]
    a, b = _name("a/" + result.path), _name("b/" + result.path)
    parts = [b"diff --git %b %b\n--- %b\n+++ %b\n" % (a, b, a, b)]
    for hunk in _hunks(blocks):
        parts += _hunk(hunk, old, new)
    return b"".join(part if part.endswith(b"\n") else part + _NO_NEWLINE for part in parts)


def _compared(old: Lines, new: Lines) -> Iterator[Block]:
    """Yield the lines that differ: those between the lines that both have at their start and their end.

    Only lines of cells change, and few of them, but outputs may have thousands of lines.
    """
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield Block(start, end, new_start, new_end)


def _blocks(result: FileResult) -> Iterator[Block]:
    """Yield the lines that hold changes; changes in one line are one block."""
    if result.cells:  # the changes of a notebook count in the cells, not in the file
        yield from _compared(_lines(_original(result)), _lines(result.data))
        return
    line = at = grown = 0
    block: Block | None = None
    for change in result.changes:
        if not change.applied:
            continue
        line += result.text.count("\n", at, change.start)
        at = change.start
        old, old_end = line, line + change.before.count("\n") + 1
        new = old + grown
        grown += change.after.count("\n") - change.before.count("\n")
        if block is not None and old < block.old_end:
            old, new = block.old, block.new
        elif block is not None:
            yield block
        block = Block(old, old_end, new, old_end + grown)
    if block is not None:
        yield block


def _without_equal_ends(block: Block, old_lines: Lines, new_lines: Lines) -> Block:
    old, old_end, new, new_end = block
    old_end, new_end = min(old_end, len(old_lines)), min(new_end, len(new_lines))
    while old < old_end and new < new_end and old_lines[old] == new_lines[new]:
        old, new = old + 1, new + 1
    while old < old_end and new < new_end and old_lines[old_end - 1] == new_lines[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return Block(old, old_end, new, new_end)


def _hunks(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield blocks whose contexts touch together."""
    hunk: list[Block] = []
    for block in blocks:
        if hunk and block.old - hunk[-1].old_end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _hunk(blocks: Sequence[Block], old: Lines, new: Lines) -> Iterator[bytes]:
    before = min(CONTEXT, blocks[0].old)
    after = min(CONTEXT, len(old) - blocks[-1].old_end)
    yield b"@@ -%b +%b @@\n" % (
        _range(blocks[0].old - before, blocks[-1].old_end + after),
        _range(blocks[0].new - before, blocks[-1].new_end + after),
    )
    at = blocks[0].old - before
    for block in blocks:
        yield from (b" " + line for line in old[at : block.old])
        yield from (b"-" + line for line in old[block.old : block.old_end])
        yield from (b"+" + line for line in new[block.new : block.new_end])
        at = block.old_end
    yield from (b" " + line for line in old[at : at + after])


def _range(start: int, end: int) -> bytes:
    """Return lines counted from 1, or for none the line before them, as patches have it."""
    return b"%d,%d" % (start + 1 if end > start else start, end - start)


def _original(result: FileResult) -> bytes:
    bom = codecs.BOM_UTF8 if result.data.startswith(codecs.BOM_UTF8) else b""
    return bom + result.text.encode(result.encoding or "utf-8")


def _lines(data: bytes) -> Lines:
    return io.BytesIO(data).readlines()


def _name(path: str) -> bytes:
    """Return a file name as git writes it: in quotes, with octal escapes, if anything in it is unusual."""
    raw = os.fsencode(path)
    if b" " not in raw and not _UNUSUAL.search(raw):
        return raw
    return b'"%b"' % _UNUSUAL.sub(lambda match: b"\\%03o" % ord(match[0]), raw)
