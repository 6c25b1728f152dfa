"""What is wrong with a rule file, said so that its author finds the place and knows what is expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Callable

from cuda2npu.catalog.grades import Applicability, Severity

# The codemods that a rule in a file of the user's may name: those that take all they do from the rule's rows.
# For each, what its rows are called, and that in words.
_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
ROWS: Mapping[str, tuple[str, str]] = {
    "symbol": (_NAME, "a dotted name, as corp.gpu.to_cuda"),
    "harmless": (_NAME, "a dotted name, as corp.gpu.warm_up"),
    "library_default": (_NAME, "the dotted name of a function, as corp.models.load"),
    "package_import": (_NAME, "a package or a module, as corp_kernels"),
    "attribute_name": (r"\*\.[A-Za-z_]\w*", "an attribute of any object, as *.cuda_handle"),
    "call": (
        r"[*\w.]+(?:\((?:\d+:)?\w+=(?!\*\))[^)]+\))?",
        "a call, as corp.fit, or an argument with its value, as corp.fit(2:backend=nccl); "
        "? is any value but None, False and 0, and ! an argument that isn't given",
    ),
    "result_member": (rf"{_NAME}\(\)(?:\.\w+)?", "a member of a result, as corp.gpu.info().sm_count"),
    "provider_name": (r".+", "a whole string"),
    "environment": (r"[A-Za-z_]\w*", "the name of an environment variable"),
}
CODE = re.compile(r"[A-Z]{2,12}\d{1,4}")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

_Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_positions(value: object) -> bool:
    return _is_table_of_texts(value) and isinstance(value, dict) and all(key.isdecimal() for key in value)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


_ANY: tuple[_Check, str] = (lambda value: True, "anything")
_TEXT = (_is_text, "a string")
_TEXTS = (_is_texts, "a list of strings")
# The type of a field of Row and Example, as it is written there -> what the file must have.
_TYPES: Mapping[str, tuple[_Check, str]] = {
    "str": _TEXT,
    "Text": (_is_text, "the name of a note"),
    "bool": (_is_flag, "true or false"),
    "Sequence[str]": _TEXTS,
    "Mapping[str, str]": (_is_table_of_texts, "a table of strings"),
    "Mapping[int, str]": (_is_positions, "a table of strings, by positions from 0"),
}
_RULE: Mapping[str, tuple[_Check, str]] = {
    **dict.fromkeys(("code", "name", "codemod", "applicability", "severity", "pattern"), _TEXT),
    **dict.fromkeys(("summary", "summary_zh", "why", "why_zh", "advice", "advice_zh"), _TEXT),
    "sources": _TEXTS,
    "example": (_is_tables, "a list of tables"),
    "rows": (_is_table, "a table"),
    "default": (_is_flag, "true or false"),
    "words": (lambda value: _is_texts(value) or _is_flag(value), "a list of strings, or true"),
}
_NEEDED = ("code", "name", "codemod", "applicability", "summary", "why", "sources", "example")
_TABLES: Mapping[str, tuple[_Check, str]] = {
    "rule": (_is_tables, "written [[rule]]"),
    "notes": (_is_table, "a table"),
    "reasons": (_is_table, "a table"),
    "packages": (_is_table, "a table"),
    "keys": (_is_table, "a table"),
    "distributions": (_is_table_of_texts, "a table of strings"),
}
_PACKAGES = dict.fromkeys(("foreign", "torch_family", "plain"), _TEXTS)
_LANGUAGES = dict.fromkeys(("en", "zh"), _TEXT)


def check_document(document: Mapping[str, Any]) -> None:
    """Check all of a file but its rules.

    :raises ValueError: names the table and the key.
    """
    _check(document, _TABLES, "")
    _check(document.get("packages", {}), _PACKAGES, "[packages] ")
    for name, patterns in document.get("keys", {}).items():
        if not _is_texts(patterns):
            raise ValueError(f"[keys] {name} must be a list of strings")
    for kind in ("notes", "reasons"):
        for name, text in document.get(kind, {}).items():
            if not isinstance(text, dict):
                raise ValueError(f"[{kind}] {name} must be a table with en and zh")
            _check(text, _LANGUAGES, f"[{kind}] {name}: ")
            if not text.get("en"):
                raise ValueError(f"[{kind}] {name}: en is missing")


def check_rule(table: Mapping[str, Any], row_type: type, example_type: type) -> None:
    """Check the keys and values of a rule, its rows and its examples.

    :raises ValueError: names the key, the row or the number of the example.
    """
    _check(table, _RULE, "")
    for key in _NEEDED:
        if not table.get(key):
            raise ValueError(f"{key} is missing")
    _check_choice("applicability", table["applicability"], [each.value for each in Applicability])
    _check_choice("severity", table.get("severity", "manual"), [each.value for each in Severity])
    keys = _of_fields(row_type, without="name")
    for name, found in table.get("rows", {}).items():
        for row in found if isinstance(found, list) else [found]:
            if not isinstance(row, dict):
                raise ValueError(f'row {name} must be a table, as {{ to = "corp.npu.run" }}')
            _check(row, keys, f"row {name}: ")
    keys = _of_fields(example_type)
    for number, example in enumerate(table["example"], 1):
        _check(example, keys, f"example {number}: ")
        kinds = [kind for kind in ("before", "kept", "reported") if kind in example]
        if len(kinds) != 1 or ("before" in example) is not ("after" in example):
            raise ValueError(f"example {number} needs either before and after, or kept, or reported")


def check_users_rule(table: Mapping[str, Any]) -> None:
    """Check what holds for rules in a file of the user's, beside :func:`check_rule`.

    :raises ValueError: names the key or the row.
    """
    if not CODE.fullmatch(table["code"]):
        raise ValueError("code: capital letters and then digits, as ACME001")
    if not _KEBAB.fullmatch(table["name"]):
        raise ValueError(f"name {table['name']!r}: small letters with hyphens, as corp-streams")
    _check_choice("codemod", table["codemod"], ROWS)
    pattern, example = ROWS[table["codemod"]]
    if not table.get("rows"):
        raise ValueError("rows is missing: what the rule is about")
    for name, row in table["rows"].items():
        if not re.fullmatch(pattern, name):
            raise ValueError(f"row {name}: for the codemod {table['codemod']}, write {example}")
        if isinstance(row, list) and table["codemod"] != "call":
            raise ValueError(f"row {name}: only rows of the codemod call may be lists")
        changes = any(each.get("to") for each in (row if isinstance(row, list) else [row]))
        if changes and table["applicability"] == Applicability.MANUAL.value:
            raise ValueError(f"row {name}: a manual rule changes nothing, so that there is no to")
        if name.endswith("=!)") and not changes and table["applicability"] != Applicability.MANUAL.value:
            raise ValueError(f"row {name}: to is missing: the argument that is added, as comm='hccl'")


def _of_fields(kind: type, without: str = "") -> dict[str, tuple[_Check, str]]:
    return {field.name: _TYPES.get(str(field.type), _ANY) for field in fields(kind) if field.name != without}


def _check(table: Mapping[str, Any], keys: Mapping[str, tuple[_Check, str]], where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            raise ValueError(f"{where}unknown key {key}; there are {', '.join(keys)}")
        is_right, expected = keys[key]
        if not is_right(value):
            raise ValueError(f"{where}{key} must be {expected}")


def _check_choice(key: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise ValueError(f"there is no {key} {value!r}; one of {', '.join(known)}")
