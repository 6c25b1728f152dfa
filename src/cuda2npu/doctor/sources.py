"""Opens a log and reads it, or says why that can't be done."""

from __future__ import annotations

import codecs
import sys
from typing import BinaryIO, cast

from cuda2npu.doctor.codes import codes
from cuda2npu.doctor.log import Scan, scan
from cuda2npu.settings import UsageError

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # what PowerShell's > writes


def scan_log(path: str) -> Scan:
    """Return the codes in a log.

    :param path: of a file; ``-`` for stdin.
    :raises UsageError: if it can't be read.
    """
    try:
        if path == "-":
            return scan(path, sys.stdin.buffer, codes())
        with open(path, "rb") as file:
            wide = file.read(2) in UTF_16
            file.seek(0)
            stream = codecs.EncodedFile(file, "utf-8", "utf-16", "replace") if wide else file
            return scan(path, cast(BinaryIO, stream), codes())
    except OSError as error:
        raise UsageError(f"doctor: --log {path} can't be read: {error.strerror or error}") from None
