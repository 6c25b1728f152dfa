"""What a folder holds, so that tests can tell that nothing was touched."""

from __future__ import annotations

import os
from pathlib import Path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the contents of every file below ``folder``, by relative path; of a link, its target."""
    return {
        path.relative_to(folder).as_posix(): os.fsencode(os.readlink(path))
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
