"""The folder in which a run leaves its report, for people and for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from cuda2npu.report.model import Json
from cuda2npu.settings import UsageError
from cuda2npu.writing import replacing

REPORT = "report.json"
PATCH = "changes.patch"


def prepare(folder: Path) -> None:
    """Make the folder, so that it isn't missing after a long run.

    :raises UsageError: if it can't be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: can't be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{folder}: may not be written to")


def write(folder: Path, document: Json, patches: Sequence[bytes]) -> None:
    """Write the report and the patch of all files.

    :raises UsageError: if they can't be written.
    """
    try:
        with replacing(folder / REPORT) as temporary:
            temporary.write_text(dumps(document), encoding="ascii")
        with replacing(folder / PATCH) as temporary:
            temporary.write_bytes(b"".join(patches))
    except OSError as error:
        raise UsageError(f"{folder}: the report can't be written: {error.strerror}") from None


def dumps(document: Json) -> str:
    """Return the document as text.

    It is pure ASCII, so that every program in every locale can read it, and file names that are no
    valid UTF-8 survive.
    """
    return json.dumps(document, indent=1) + "\n"
