"""The torch that a repository requires, where that isn't the one it is converted for."""

from __future__ import annotations

import re

from cuda2npu.report.model import Json

# The rules about requirements of torch: its build, and its version.
_RULES = ("NPU631", "NPU633")
_PIN = re.compile(r"(?<![\w-])(?:py)?torch\s*={1,3}\s*(2\.\d+(?:\.\d+)?)(?![\w.]*\*)")


def other_torch(document: Json) -> tuple[str, str] | None:
    """Return the file with the first requirement of another torch 2 than the target's, and its version."""
    target = document["target"]["torch"].partition("+")[0]
    for entry in document["files"]:
        for finding in entry["findings"]:
            match = _PIN.search(finding["token"]) if finding["rule"] in _RULES else None
            if match is not None and not f"{target}.".startswith(f"{match[1]}."):
                return entry["path"], match[1]
    return None
