"""What the project says about itself: ``[tool.cuda2npu]`` in its pyproject.toml, below what the flags say."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuda2npu.settings import DEFAULT_INTERPOLATE, INTERPOLATE, Settings, Target, UsageError

# Key in the file -> the flag that it stands for, and the kind of its value.
_KEYS: Mapping[str, tuple[str, type]] = {
    "torch": ("torch", str),
    "target-torch": ("torch", str),
    "soc": ("soc", str),
    "select": ("select", list),
    "ignore": ("ignore", list),
    "exclude": ("exclude", list),
    "unsafe": ("unsafe", bool),
    "interpolate": ("interpolate", str),
    "lang": ("lang", str),
    "rules": ("rules", list),
}
_KINDS = {str: "a string", bool: "true or false", list: "a list of strings"}
_LANGUAGES = ("en", "zh")
_CODE = re.compile(r"[A-Z]{2,12}\d{0,4}")  # of a rule or a family; rules of users have prefixes of their own


def settings(sources: Sequence[str], flags: Mapping[str, Any]) -> Settings:
    """Return the settings for ``sources``: the flags, else their pyproject.toml, else the defaults.

    The file is the nearest one with a ``[tool.cuda2npu]``, at or above what all sources share.

    :param flags: values by the names of :class:`Settings` and :class:`Target`; None where not given.
    :raises UsageError: for a flag or a key that is wrong; for a key, the message names the file.
    """
    given = {flag: value for flag, value in flags.items() if value is not None}
    path, table = _find(sources)
    if path is None:
        return _settings(given)
    configured = _values(path, table)
    try:
        _settings(configured)
    except UsageError as error:
        raise UsageError(f"{path}: [tool.cuda2npu] {error}") from None
    return _settings({**configured, **given})


def _settings(values: Mapping[str, Any]) -> Settings:
    values = dict(values)
    target = Target(**{key: values.pop(key) for key in ("torch", "soc") if key in values})
    for key in ("select", "ignore"):
        for code in values.get(key, ()):
            if not _CODE.fullmatch(code):
                raise UsageError(
                    f"{key} {code}: neither a rule nor a family; write for example NPU101 or NPU4"
                )
    if values.get("lang", "en") not in _LANGUAGES:
        raise UsageError(f"lang {values['lang']}: one of {', '.join(_LANGUAGES)}")
    if values.get("interpolate", DEFAULT_INTERPOLATE) not in INTERPOLATE:
        raise UsageError(f"interpolate {values['interpolate']}: one of {', '.join(INTERPOLATE)}")
    return Settings(target, **values)


def _find(sources: Sequence[str]) -> tuple[Path | None, object]:
    start = Path(os.path.commonpath([os.path.realpath(source) for source in sources]))
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if b"cuda2npu" in data:  # so that a TOML parser is only loaded for a file that concerns us
            tool = _parse(path, data).get("tool")
            if isinstance(tool, dict) and "cuda2npu" in tool:
                return path, tool["cuda2npu"]
    return None, None


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None
    return document


def _values(path: Path, table: object) -> dict[str, Any]:
    """Return what the table sets, by the names of the flags."""
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [tool.cuda2npu] must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"{path}: [tool.cuda2npu] has no key {key!r}; it has {', '.join(_KEYS)}")
        flag, kind = _KEYS[key]
        if not isinstance(value, kind) or (isinstance(value, list) and set(map(type, value)) - {str}):
            raise UsageError(f"{path}: [tool.cuda2npu] {key} must be {_KINDS[kind]}")
        values[flag] = tuple(value) if isinstance(value, list) else value
    values["rules"] = tuple(str(path.parent / rule) for rule in values.get("rules", ()))
    return values
