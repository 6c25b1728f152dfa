"""The packages of the extra ``verify``, without which nothing can be recorded or compared."""

from __future__ import annotations

import os
from importlib.util import find_spec

from cuda2npu.runner.variables import AUTOLOAD
from cuda2npu.settings import UsageError

_PACKAGES = ("torch", "numpy", "safetensors", "jinja2")


def need_packages(command: str, *names: str) -> None:
    """Refuse to go on without packages: those that are named, or all of the extra ``verify``.

    Torch may be imported afterwards, and doesn't load torch_npu by itself: one without CANN breaks it.

    :raises UsageError: that names what is missing.
    """
    missing = [name for name in names or _PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(f"{command}: it needs {', '.join(missing)}: pip install 'cuda2npu[verify]'")
    os.environ[AUTOLOAD] = "0"
