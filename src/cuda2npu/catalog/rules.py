"""The rule catalogue: TOML files read into frozen objects, checked while they are read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from cuda2npu.catalog.checks import check_document, check_rule, check_users_rule
from cuda2npu.catalog.kernels import has_kernel
from cuda2npu.catalog.versions import holds
from cuda2npu.rewrite.change import Applicability, Severity
from cuda2npu.settings import SOCS, Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")
# Of a package on Ascend: a build of its own, something else in its place, neither, or it runs as it is.
STATES = ("port", "replace", "none", "works")


class CatalogError(Exception):
    """A rule file is wrong; the message names the file, the rule and the fault."""


@dataclass(frozen=True)
class Text:
    """One text in every language."""

    en: str = ""
    zh: str = ""

    def in_language(self, lang: str) -> str:
        """Return the text in ``lang``, or in English where it is missing."""
        return (self.zh if lang == "zh" else "") or self.en


@dataclass(frozen=True)
class Row:
    """One name that a rule maps.

    :param name: dotted CUDA name, such as ``torch.cuda.graph``.
    :param to: dotted name that takes its place; empty where there is none.
    :param torch_npu: condition on the minor version in which ``to`` exists; without ``to``, on the
        versions that the row is about.
    :param keywords: CUDA keyword argument -> its name on the NPU.
    :param positional: index of a positional argument (from 0) -> the keyword that it must be given by.
    :param lacks: keywords that the counterpart doesn't take.
    :param unless: keywords that make a call right as it is.
    :param needs: position and keyword of an argument, as ``2:num_layers``; without it, or with 1, the
        row isn't about a call.
    :param soc: the chips that the row is about; empty for all.
    :param dtypes: the types of tensors that the row is about.
    :param op: the ATen operator behind ``name``; the row is about versions that have no kernel for it.
    :param state: what there is of a package on Ascend, one of :data:`STATES`; empty for other rows.
    :param note: what differs, or what to do instead.
    """

    name: str
    to: str = ""
    torch_npu: str = ""
    keywords: Mapping[str, str] = field(default_factory=dict)
    positional: Mapping[int, str] = field(default_factory=dict)
    lacks: Sequence[str] = ()
    unless: Sequence[str] = ()
    needs: str = ""
    soc: Sequence[str] = ()
    dtypes: Sequence[str] = ()
    op: str = ""
    state: str = ""
    note: Text = Text()

    @property
    def remark(self) -> Text:
        """The note, unless it is about arguments: then it belongs to the calls that have them."""
        return Text() if self.keywords or self.positional or self.lacks else self.note

    def holds_for(self, version: tuple[int, int]) -> bool:
        """Whether the mapping is right for this minor version of torch_npu."""
        return holds(self.torch_npu, version)

    def concerns(self, target: Target) -> bool:
        """Whether the row is about this version and this chip."""
        if not self.is_about(target):
            return False
        return self.holds_for(target.version) and not (self.op and has_kernel(self.op, target.version))

    def is_about(self, target: Target) -> bool:
        """Whether the row is about this chip."""
        return not self.soc or target.soc in self.soc


@dataclass(frozen=True)
class Example:
    """A piece of code and what must become of it: changed, kept or reported.

    Exactly one of (``before`` and ``after``), ``kept`` and ``reported`` is given.

    :param file: name of the file that it stands in, which decides how it is read.
    """

    before: str = ""
    after: str = ""
    kept: str = ""
    reported: str = ""
    torch: str = ""
    soc: str = ""
    unsafe: bool = False
    interpolate: str = ""
    file: str = ""

    @property
    def source(self) -> str:
        """The code that goes in."""
        return self.before or self.kept or self.reported

    @property
    def expected(self) -> str:
        """The code that must come out."""
        return self.after or self.source


@dataclass(frozen=True)
class Rule:
    """What is rewritten, why, and the examples that prove it.

    ``words`` are identifiers, and ``pattern`` is a regular expression, by which a file that uses torch
    concerns the rule though no CUDA word stands in it. Of a rule of the user's, ``file`` is where it stands;
    a file that has the last name of one of its rows concerns it.
    """

    code: str
    name: str
    codemod: str
    applicability: Applicability
    severity: Severity
    summary: Text
    why: Text
    advice: Text
    sources: Sequence[str]
    examples: Sequence[Example]
    rows: Sequence[Row]
    default: bool = True
    words: frozenset[str] = frozenset()
    pattern: str = ""
    file: str = ""


@dataclass(frozen=True)
class Catalog:
    """All rules by code, all rows by the CUDA name that they map, and the reasons for keeping a word.

    :param others: codemod -> the rows of its rules, where those are about calls, or about files that
        aren't Python; several may have the same name.
    :param overridden: the rows of ours in whose place the user's stand.
    :param modules: names of rows that have other rows below them.
    :param roots: top-level packages that rows are about.
    :param foreign: top-level packages whose devices and ``cuda`` members aren't torch's.
    :param torch_family: packages that are built on torch, so that importing them brings it in.
    :param plain: packages that compute on the CPU only, so that they work beside an NPU as they are.
    :param keys: kind -> patterns of the keys of configurations that hold it.
    :param distributions: pattern of a distribution -> the name of the row that says what to do about it.
    """

    rules: Mapping[str, Rule]
    rows: Mapping[str, tuple[Rule, Row]]
    others: Mapping[str, Sequence[tuple[Rule, Row]]]
    overridden: Mapping[str, tuple[Rule, Row]]
    modules: frozenset[str]
    roots: frozenset[str]
    reasons: Mapping[str, Text]
    foreign: frozenset[str]
    torch_family: frozenset[str]
    plain: frozenset[str]
    keys: Mapping[str, Sequence[str]]
    distributions: Mapping[str, str]

    def rows_of(self, codemod: str) -> Mapping[str, tuple[Rule, Row]]:
        """Return those of the rows that the rules with this codemod map."""
        return self._by_codemod.get(codemod, {})

    @cached_property
    def _by_codemod(self) -> Mapping[str, Mapping[str, tuple[Rule, Row]]]:
        found: dict[str, dict[str, tuple[Rule, Row]]] = {}
        for name, (rule, row) in self.rows.items():
            found.setdefault(rule.codemod, {})[name] = (rule, row)
        return found


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
    try:
        return [(path, Path(path).read_text(encoding="utf-8")) for path in paths]
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"the rule file can't be read: {error}") from None


def _rules(document: Mapping[str, Any], where: str, is_own: bool) -> list[Rule]:
    notes = {key: Text(**value) for key, value in document.get("notes", {}).items()}
    rules = []
    for table in document.get("rule", ()):
        try:
            check_rule(table, Row, Example)
            if not is_own:
                check_users_rule(table)
            rules.append(_rule(table, notes, "" if is_own else where))
        except ValueError as error:
            raise CatalogError(f"{where}: rule {table.get('code', '?')}: {error}") from None
    return rules


def _rule(table: Mapping[str, Any], notes: Mapping[str, Text], file: str) -> Rule:
    return Rule(
        code=table["code"],
        name=table["name"],
        codemod=table["codemod"],
        applicability=Applicability(table["applicability"]),
        severity=Severity(table.get("severity", "manual")),
        summary=_text(table, "summary"),
        why=_text(table, "why"),
        advice=_text(table, "advice"),
        sources=tuple(table["sources"]),
        examples=tuple(Example(**example) for example in table["example"]),
        rows=tuple(
            _row(name, row, notes)
            for name, found in table.get("rows", {}).items()
            for row in (found if isinstance(found, list) else [found])
        ),
        default=table.get("default", True),
        words=_words(table, all_rows=bool(file)),
        pattern=_pattern(table),
        file=file,
    )


def _words(table: Mapping[str, Any], all_rows: bool) -> frozenset[str]:
    """Return the words of a rule; ``words = true``, or ``all_rows``, takes the last name of each row."""
    words = table.get("words", False)
    listed = frozenset() if isinstance(words, bool) else frozenset(words)
    if words is not True and not all_rows:
        return listed
    return listed | {name.partition("(")[0].rpartition(".")[2] for name in table.get("rows", {})}


def _pattern(table: Mapping[str, Any]) -> str:
    pattern: str = table.get("pattern", "")
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise ValueError(f"pattern: {error}") from None
    return pattern


def _text(table: Mapping[str, Any], key: str) -> Text:
    return Text(table.get(key, ""), table.get(f"{key}_zh", ""))


def _socs(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    socs = tuple(row.get("soc", ()))
    if unknown := set(socs) - set(SOCS):
        raise ValueError(f"{name}: unknown chip {', '.join(sorted(unknown))}; one of {', '.join(SOCS)}")
    return socs


def _state(name: str, row: Mapping[str, Any]) -> str:
    state: str = row.get("state", "")
    if state and state not in STATES:
        raise ValueError(f"{name}: unknown state {state!r}; one of {', '.join(STATES)}")
    return state


def _row(name: str, row: Mapping[str, Any], notes: Mapping[str, Text]) -> Row:
    note = row.get("note")
    if note is not None and note not in notes:
        raise ValueError(f"{name}: there is no note {note!r} in this file")
    holds(row.get("torch_npu", ""), (2, 1))  # find an unreadable condition now, not when it is used
    return Row(
        name=name,
        to=row.get("to", ""),
        torch_npu=row.get("torch_npu", ""),
        keywords=row.get("keywords", {}),
        positional={int(index): keyword for index, keyword in row.get("positional", {}).items()},
        lacks=tuple(row.get("lacks", ())),
        unless=tuple(row.get("unless", ())),
        needs=row.get("needs", ""),
        soc=_socs(name, row),
        dtypes=tuple(row.get("dtypes", ())),
        op=row.get("op", ""),
        state=_state(name, row),
        note=notes[note] if note else Text(),
    )
