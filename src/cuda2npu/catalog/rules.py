"""The rule catalogue: TOML files read into frozen objects, checked while they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from cuda2npu.catalog.versions import holds
from cuda2npu.rewrite.change import Applicability, Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")


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
    :param torch_npu: condition on the minor version in which ``to`` exists.
    :param keywords: CUDA keyword argument -> its name on the NPU.
    :param positional: index of a positional argument (from 0) -> the keyword that it must be given by.
    :param lacks: keywords that the counterpart doesn't take.
    :param unless: keywords that make a call right as it is.
    :param note: what differs, or what to do instead.
    """

    name: str
    to: str = ""
    torch_npu: str = ""
    keywords: Mapping[str, str] = field(default_factory=dict)
    positional: Mapping[int, str] = field(default_factory=dict)
    lacks: Sequence[str] = ()
    unless: Sequence[str] = ()
    note: Text = Text()

    @property
    def remark(self) -> Text:
        """The note, unless it is about arguments: then it belongs to the calls that have them."""
        return Text() if self.keywords or self.positional or self.lacks else self.note

    def holds_for(self, version: tuple[int, int]) -> bool:
        """Whether the mapping is right for this minor version of torch_npu."""
        return holds(self.torch_npu, version)


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
    """What is rewritten, why, and the examples that prove it."""

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


@dataclass(frozen=True)
class Catalog:
    """All rules by code, all rows by the CUDA name that they map, and the reasons for keeping a word.

    :param modules: names of rows that have other rows below them.
    :param roots: top-level packages that rows are about.
    :param foreign: top-level packages whose devices and ``cuda`` members aren't torch's.
    :param torch_family: packages that are built on torch, so that importing them brings it in.
    :param keys: kind -> patterns of the keys of configurations that hold it.
    :param distributions: pattern of a distribution -> the name of the row that says what to do about it.
    :param file_rows: codemod -> the rows of its rules, for rules about files that aren't Python.
    """

    rules: Mapping[str, Rule]
    rows: Mapping[str, tuple[Rule, Row]]
    modules: frozenset[str]
    roots: frozenset[str]
    reasons: Mapping[str, Text]
    foreign: frozenset[str]
    torch_family: frozenset[str]
    keys: Mapping[str, Sequence[str]]
    distributions: Mapping[str, str]
    file_rows: Mapping[str, Sequence[tuple[Rule, Row]]]


_TABLES = {"rule", "notes", "reasons", "packages", "keys", "distributions"}
# Rules about files that aren't Python. Their rows are keys, programs and distributions, no dotted names.
_FILE_CODEMODS = {"base_image", "command", "config_setting", "distribution", "torch_requirement"}


def load_catalog(extra: Iterable[str] = ()) -> Catalog:
    """Read the rules of the package and those of the files named in ``extra``.

    :raises CatalogError: if a file can't be read, or a rule in it is wrong.
    """
    return _load(tuple(extra))


@lru_cache(maxsize=8)
def _load(extra: tuple[str, ...]) -> Catalog:
    rules: dict[str, Rule] = {}
    rows: dict[str, tuple[Rule, Row]] = {}
    reasons: dict[str, Text] = {}
    packages: dict[str, set[str]] = {"foreign": set(), "torch_family": set()}
    keys: dict[str, list[str]] = {}
    distributions: dict[str, str] = {}
    file_rows: dict[str, list[tuple[Rule, Row]]] = {}
    for where, text in (*_own_files(), *_extra_files(extra)):
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogError(f"{where}: {error}") from None
        if unknown := set(document) - _TABLES:
            raise CatalogError(f"{where}: unknown table {', '.join(sorted(unknown))}; there is [[rule]]")
        reasons.update({key: Text(**value) for key, value in document.get("reasons", {}).items()})
        for kind, names in packages.items():
            names.update(document.get("packages", {}).get(kind, ()))
        for key_kind, patterns in _strings(document, "keys", list, where).items():
            keys.setdefault(key_kind, []).extend(patterns)
        distributions.update(_strings(document, "distributions", str, where))
        for rule in _rules(document, where):
            if rule.code in rules:
                raise CatalogError(f"{where}: rule {rule.code} stands twice")
            rules[rule.code] = rule
            if rule.codemod in _FILE_CODEMODS:
                file_rows.setdefault(rule.codemod, []).extend((rule, row) for row in rule.rows)
                continue
            for row in rule.rows:
                if row.name in rows and where not in extra:  # a user's row may override ours
                    other = rows[row.name][0].code
                    raise CatalogError(f"{where}: {rule.code} maps {row.name}, as {other} does")
                rows[row.name] = (rule, row)
    modules = frozenset(name.rpartition(".")[0] for name in rows)
    return Catalog(
        dict(sorted(rules.items())),
        rows,
        modules,
        frozenset(name.partition(".")[0] for name in rows),
        reasons,
        frozenset(packages["foreign"]),
        frozenset(packages["torch_family"]),
        keys,
        distributions,
        file_rows,
    )


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


def _rules(document: Mapping[str, Any], where: str) -> list[Rule]:
    notes = {key: Text(**value) for key, value in document.get("notes", {}).items()}
    rules = []
    for table in document.get("rule", ()):
        try:
            rules.append(_rule(table, notes))
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise CatalogError(f"{where}: rule {table.get('code', '?')}: {what}") from None
    return rules


def _rule(table: Mapping[str, Any], notes: Mapping[str, Text]) -> Rule:
    known = {"code", "name", "codemod", "applicability", "severity", "summary", "summary_zh", "why", "why_zh"}
    known |= {"advice", "advice_zh", "sources", "example", "rows", "default"}
    if unknown := set(table) - known:
        raise ValueError(f"unknown key {', '.join(sorted(unknown))}")
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
        rows=tuple(_row(name, row, notes) for name, row in table.get("rows", {}).items()),
        default=table.get("default", True),
    )


def _strings(document: Mapping[str, Any], name: str, kind: type, where: str) -> Mapping[str, Any]:
    """Return a table whose values are all strings, or all lists of strings."""
    table = document.get(name, {})
    values = table.values() if isinstance(table, dict) else [None]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    if not all(isinstance(value, kind) for value in values) or not all(isinstance(i, str) for i in items):
        raise CatalogError(f"{where}: [{name}] holds {'lists of strings' if kind is list else 'strings'}")
    return table  # type: ignore[no-any-return]


def _text(table: Mapping[str, Any], key: str) -> Text:
    return Text(table.get(key, ""), table.get(f"{key}_zh", ""))


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
        note=notes[note] if note else Text(),
    )
