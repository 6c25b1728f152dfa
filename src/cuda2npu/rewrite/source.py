"""Bytes to text and back without loss: encoding, BOM, newlines."""

from __future__ import annotations

import codecs
import io
import tokenize
from dataclasses import dataclass


class SourceError(Exception):
    """The bytes are not Python source text; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """Decoded Python source. ``text`` has no BOM and keeps every newline as it was."""

    text: str
    encoding: str
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return the bytes of ``text`` in this source's encoding, with its BOM."""
        return self.bom + text.encode(self.encoding)


def decode(data: bytes) -> Source:
    """Decode ``data`` as Python itself would (PEP 263).

    :raises SourceError: for an unknown or wrong encoding, or one that can't be written back
        byte for byte.
    """
    if b"\0" in data:
        raise SourceError("contains NUL bytes: not Python source, or UTF-16; save it as UTF-8")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise SourceError(_explain(data, str(error))) from None
    bom = b""
    if encoding == "utf-8-sig":
        encoding, bom = "utf-8", codecs.BOM_UTF8
    try:
        text = data[len(bom) :].decode(encoding)
        faithful = bom + text.encode(encoding) == data
    except UnicodeError:
        raise SourceError(_explain(data, f"the bytes are not valid {encoding}")) from None
    if not faithful:
        raise SourceError(f"{encoding} can't be written back byte for byte; save the file as UTF-8")
    return Source(text, encoding, bom)


def _explain(data: bytes, reason: str) -> str:
    """Name the encoding that the bytes probably have, so that the person knows what to declare."""
    for guess in ("gbk", "latin-1"):
        try:
            data.decode(guess)
        except UnicodeDecodeError:
            continue
        return f"{reason}; if it is {guess}, say so in line 1: # -*- coding: {guess} -*-"
    return f"{reason}; save it as UTF-8 or declare its encoding in line 1"
