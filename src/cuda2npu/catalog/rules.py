"""The rule catalogue: what a rule says, as frozen objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.catalog.kernels import has_kernel
from cuda2npu.catalog.versions import holds
from cuda2npu.settings import Target

LANGUAGES = ("en", "zh")
# Of a package on Ascend: a build of its own, something else in its place, neither, or it runs as it is.
STATES = ("port", "replace", "none", "works")


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
