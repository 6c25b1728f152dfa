"""The rule files put together to one catalogue, and the part of it that a target is about."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from cuda2npu.catalog.checks import check_document, check_rule, check_users_rule
from cuda2npu.catalog.reading import read_rule
from cuda2npu.catalog.rules import Catalog, Example, Row, Rule, Text
from cuda2npu.settings import Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class CatalogError(Exception):
    """A rule file is wrong; the message names the file, the rule and the fault."""


# Rules whose rows are no dotted names, by codemod: they are about calls, or about files that aren't Python.
_CALLS = {"call", "resize", "resize_dtype", "dtype"}
_FILES = {"base_image", "command", "config_setting", "distribution", "torch_requirement"}


def load_catalog(extra: Iterable[str] = ()) -> Catalog:
    """Read the rules of the package and those of the files named in ``extra``.

    :raises CatalogError: if a file can't be read, or a rule in it is wrong.
    """
    return _load(tuple(extra))


def load_catalog_for(target: Target, extra: Iterable[str] = ()) -> Catalog:
    """Read the same without the rows that aren't about this version and this chip.

    Where a row of the user's isn't, ours of the same name is in its place again.

    :raises CatalogError: as :func:`load_catalog` does.
    """
    return _load_for(target, tuple(extra))


@lru_cache(maxsize=8)
def _load_for(target: Target, extra: tuple[str, ...]) -> Catalog:
    catalog = _load(extra)
    rows = {}
    for name, found in catalog.rows.items():
        for rule, row in (found, catalog.overridden.get(name, found)):
            here = _on(target, rule, row)
            if here is not None:
                rows[name] = (rule, here)
                break
    others = {
        codemod: _without_overridden([(rule, row) for rule, row in found if row.concerns(target)])
        for codemod, found in catalog.others.items()
    }
    return replace(catalog, rows=rows, others=others)


def _on(target: Target, rule: Rule, row: Row) -> Row | None:
    """Return what ``row`` says on a target; None if it isn't about that."""
    if row.concerns(target):
        return row
    if not row.to or not row.is_about(target):
        return None
    # This version lacks ``to``: the name is reported. The codemod symbol says which version has it.
    return row if rule.codemod == "symbol" else replace(row, to="")


@lru_cache(maxsize=8)
def _load(extra: tuple[str, ...]) -> Catalog:
    rules: dict[str, Rule] = {}
    rows: dict[str, tuple[Rule, Row]] = {}
    overridden: dict[str, tuple[Rule, Row]] = {}
    others: dict[str, list[tuple[Rule, Row]]] = {}
    reasons: dict[str, Text] = {}
    packages: dict[str, set[str]] = {"foreign": set(), "torch_family": set(), "plain": set()}
    keys: dict[str, list[str]] = {}
    distributions: dict[str, str] = {}
    for where, text in (*_own_files(), *_extra_files(extra)):
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogError(f"{where}: {error}") from None
        except RecursionError:
            raise CatalogError(f"{where}: nested too deeply; write its tables flat") from None
        try:
            check_document(document)
        except ValueError as error:
            raise CatalogError(f"{where}: {error}") from None
        reasons.update({key: Text(**value) for key, value in document.get("reasons", {}).items()})
        for kind, names in packages.items():
            names.update(document.get("packages", {}).get(kind, ()))
        for key_kind, patterns in document.get("keys", {}).items():
            keys.setdefault(key_kind, []).extend(patterns)
        distributions.update(document.get("distributions", {}))
        for rule in _rules(document, where, is_own=where not in extra):
            if rule.code in rules:
                raise CatalogError(f"{where}: rule {rule.code} stands twice")
            rules[rule.code] = rule
            if rule.codemod in _CALLS | _FILES:
                others.setdefault(rule.codemod, []).extend((rule, row) for row in rule.rows)
                continue
            for row in rule.rows:
                other = rows[row.name][0] if row.name in rows else None
                if other is not None and other.file == rule.file:  # a user's row may override ours
                    raise CatalogError(f"{where}: {rule.code} maps {row.name}, as {other.code} does")
                if other is not None and not other.file:
                    overridden[row.name] = rows[row.name]
                rows[row.name] = (rule, row)
    modules = frozenset(name.rpartition(".")[0] for name in rows)
    return Catalog(
        dict(sorted(rules.items())),
        rows,
        others,
        overridden,
        modules,
        frozenset(name.partition(".")[0] for name in rows),
        reasons,
        frozenset(packages["foreign"]),
        frozenset(packages["torch_family"]),
        frozenset(packages["plain"]),
        keys,
        distributions,
    )


def _without_overridden(rows: Sequence[tuple[Rule, Row]]) -> Sequence[tuple[Rule, Row]]:
    """Return the rows without those of ours for which the user has a row."""
    users = {row.name for rule, row in rows if rule.file}
    return [(rule, row) for rule, row in rows if rule.file or row.name not in users]


def _own_files() -> list[tuple[str, str]]:
    packaged = resources.files("cuda2npu") / "rules"
    # In a checkout the rules stand beside src/, in the wheel inside the package.
    folder = packaged if packaged.is_dir() else Path(__file__).parents[3] / "rules"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return [(f.name, f.read_text(encoding="utf-8")) for f in files]


def _extra_files(paths: Iterable[str]) -> list[tuple[str, str]]:
    found = []
    for path in paths:
        try:
            found.append((path, Path(path).read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            raise CatalogError(f"{path}: the rule file isn't UTF-8; save it as UTF-8") from None
        except OSError as error:
            raise CatalogError(f"the rule file can't be read: {error}") from None
    return found


def _rules(document: Mapping[str, Any], where: str, is_own: bool) -> list[Rule]:
    notes = {key: Text(**value) for key, value in document.get("notes", {}).items()}
    rules = []
    for table in document.get("rule", ()):
        try:
            check_rule(table, Row, Example)
            if not is_own:
                check_users_rule(table)
            rules.append(read_rule(table, notes, "" if is_own else where))
        except ValueError as error:
            raise CatalogError(f"{where}: rule {table.get('code', '?')}: {error}") from None
    return rules
