"""One file while it is being rewritten: what codemods read, and what they report to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from cuda2npu.catalog.api import ApiTable
from cuda2npu.catalog.grades import Applicability, Severity
from cuda2npu.catalog.rules import Catalog, Row, Rule, Text
from cuda2npu.messages import say
from cuda2npu.rewrite.change import Change, Finding, Kept
from cuda2npu.rewrite.flow import Flow
from cuda2npu.rewrite.flow.topics import BACKEND, DEVICE
from cuda2npu.rewrite.guards import Guards
from cuda2npu.rewrite.index import ProjectIndex
from cuda2npu.rewrite.kinds import Kinds
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.scopes import Binding, Scope
from cuda2npu.rewrite.spans import Span, Spans
from cuda2npu.rewrite.suppress import Suppressions
from cuda2npu.settings import Settings

IMPORT = "NPU001"


def is_in_house(name: str) -> bool:
    """Whether a dotted name lies outside of torch: only rules of users name such modules."""
    return name.partition(".")[0] not in ("", "torch", "torch_npu")


@dataclass(frozen=True)
class Mapping:
    """What the catalogue says about a dotted CUDA name on the target.

    :param name: the part of the dotted name that is mapped; attributes behind it stay as they are.
    :param to: what takes its place; empty where the target has nothing.
    """

    name: str
    to: str
    rule: Rule
    row: Row


@dataclass(frozen=True)
class ImportPlan:
    """What becomes of an imported name: the name it has in this file, and what it stands for, afterwards."""

    local: str
    target: str


@dataclass
class Unit:
    """The file, its analysis, and the changes, findings and kept words collected so far.

    :param path: path relative to the tree that is converted, with forward slashes.
    :param text: the decoded source.
    """

    path: str
    text: str
    names: Names
    spans: Spans
    catalog: Catalog
    api: ApiTable
    settings: Settings
    index: ProjectIndex
    suppressions: Suppressions
    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    # For each change, the node that it is about.
    places: list[cst.CSTNode] = field(default_factory=list)
    # Nodes whose changed code needs torch_npu to be imported.
    npu_users: list[cst.CSTNode] = field(default_factory=list)
    # String literals that a codemod has dealt with, so that no other one looks at them.
    claimed: set[cst.CSTNode] = field(default_factory=set)
    plans: dict[Binding, ImportPlan] = field(default_factory=dict)
    # Modules outside of torch that changes import by their whole names.
    imported: set[str] = field(default_factory=set)
    # Import statements that a change turned into ``import torch_npu``.
    replaced_by_npu: set[Binding] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.kinds = Kinds(self.names, self.catalog.foreign)
        known = (self._parameter_of, self.index.shared, self.is_of_project)
        self.devices = Flow(self.names, self.kinds, DEVICE, *known)
        self.backends = Flow(self.names, self.kinds, BACKEND, *known)
        self._decisions: dict[str, bool] = {}
        self._kept_spans: set[Span] = set()
        self.guards = Guards(self.names, self.spans, self.devices.cells, self.text)

    def _parameter_of(self, function: str, position: int) -> str | None:
        """Return the name of a parameter of a function in another file of the project."""
        parameters = self.index.parameters(self.path, function)
        return parameters[position] if position < len(parameters) else None

    def decided(self, question: str, answer: Callable[[Unit], bool]) -> bool:
        """Return the answer to a question about the whole file, worked out once."""
        if question not in self._decisions:
            self._decisions[question] = answer(self)
        return self._decisions[question]

    @cached_property
    def uses_torch(self) -> bool:
        """Whether the file works with torch, so that a device in it is torch's."""
        return bool(self._roots & ({"torch", "torch_npu"} | self.catalog.torch_family)) or self.path in (
            self.index.torch_files
        )

    @cached_property
    def uses_foreign(self) -> bool:
        """Whether the file works with a library that has devices of its own."""
        return bool(self._roots & self.catalog.foreign)

    @cached_property
    def _roots(self) -> frozenset[str]:
        return frozenset((binding.target or "").partition(".")[0] for binding in self.names.imports)

    @property
    def version(self) -> tuple[int, int]:
        """Minor version of PyTorch and torch_npu that the code is converted for."""
        return self.settings.target.version

    def say(self, text: Text) -> str:
        """Return ``text`` in the user's language."""
        return text.in_language(self.settings.lang)

    # What codemods report to

    def replace(
        self,
        code: str,
        span: Span,
        after: str,
        *,
        at: cst.CSTNode,
        npu: bool = True,
        note: Text | None = None,
        group: str = "",
        site: bool = True,
        unsafe: bool = False,
    ) -> bool:
        """Replace ``span`` by ``after`` under the rule ``code``; return whether that is carried out.

        :param at: the node that is changed; it decides which torch import the change depends on.
        :param npu: whether the new code needs torch_npu to be imported.
        :param note: what differs on the NPU, for the message.
        :param group: name shared by changes that are only right together.
        :param site: False for a change that only serves another one.
        :param unsafe: the change is less certain than its rule.
        """
        rule = self.catalog.rules[code]
        if not self._is_on(rule, span, at):
            return False
        applicability = Applicability.UNSAFE if unsafe else rule.applicability
        applied = applicability is Applicability.SAFE or self.settings.unsafe
        message = self.say(rule.summary)
        if note is not None and self.say(note):
            message = say("with_note", self.settings.lang, message=message, note=self.say(note))
        before = self.text[span.start : span.end]
        self.changes.append(
            Change(code, applicability, applied, span.start, span.end, before, after, message, group, site)
        )
        self.places.append(at)
        if applied and npu:
            self.npu_users.append(at)
        return applied

    def report(
        self,
        code: str,
        at: cst.CSTNode,
        *,
        span: Span | None = None,
        note: Text | None = None,
        severity: Severity | None = None,
        remark: Text | None = None,
    ) -> None:
        """Leave ``at`` to a person, under the rule ``code``.

        :param note: advice for this very place, in place of the rule's.
        :param remark: what the message says besides the rule's summary.
        """
        rule = self.catalog.rules[code]
        start, end = span or self.spans[at]
        if not self._is_on(rule, Span(start, end), at):
            return
        advice = self.say(note) if note is not None else ""
        message = self.say(rule.summary)
        if remark is not None:
            message = say("with_remark", self.settings.lang, message=message, remark=self.say(remark))
        self.findings.append(
            Finding(code, severity or rule.severity, start, end, message, advice or self.say(rule.advice))
        )

    def _is_on(self, rule: Rule, span: Span, at: cst.CSTNode) -> bool:
        """Whether the rule is wanted here: selected, not switched off by a comment, not done already."""
        if not self.settings.selects(rule.code, rule.default) and not self._has_to_follow(rule):
            return False
        serves_others = rule.code == IMPORT  # other lines than the one that it comes before
        if not serves_others and self._is_suppressed(rule.code, span, at):
            self.keep(span if span.start < span.end else at, "suppressed", rule.code)
            return False
        if self.guards.has_npu_branch(at):
            self.keep(span, "old-word" if self.guards.is_replaced(at) else "npu-branch", rule.code)
            return False
        return True

    def _is_suppressed(self, code: str, span: Span, at: cst.CSTNode) -> bool:
        """Whether a comment switches the rule off where the change or the call that it is about stands."""
        call = at if isinstance(at, cst.Call) else None
        offsets = [span.start, span.end, *((self.spans[call].start, self.spans[call].end) if call else ())]
        covered = [self.suppressions.covers(code, offset) for offset in offsets]
        return any(covered)

    def _has_to_follow(self, rule: Rule) -> bool:
        """Whether other changes need this one, though it isn't selected itself: the import."""
        return rule.code == IMPORT and not self.settings.ignores(rule.code)

    def report_missing(self, where: cst.CSTNode, mapping: Mapping, severity: Severity | None = None) -> None:
        """Report a name that the target lacks: in every version, or only in this one."""
        code = mapping.rule.code
        if mapping.row.to and not is_in_house(mapping.row.to):
            # A member of a mapped module may be missing everywhere, which another version doesn't mend.
            member = mapping.name[len(mapping.row.name) :]
            code = "NPU122" if self.api.ever_had(mapping.row.to + member) else "NPU103"
        self.report(code, where, note=mapping.row.note, severity=severity)

    def keep(self, where: cst.CSTNode | Span, reason: str | Text, code: str = "NPU900") -> None:
        """Leave ``where`` as it is on purpose; ``reason`` is a text, or a key of the catalogue's reasons."""
        span = where if isinstance(where, Span) else self.spans[where]
        token = self.text[span.start : span.end].split("\n")[0][:60]
        text = reason if isinstance(reason, Text) else self.catalog.reasons[reason]
        if span in self._kept_spans:
            return  # two rules may be about the same word
        self._kept_spans.add(span)
        self.kept.append(Kept(code, span.start, span.end, token, self.say(text)))

    def is_of_project(self, target: str) -> bool:
        """Whether a dotted name, as this file imports it, belongs to the project."""
        return target.startswith(".") or self.index.is_own(self.path, target.partition(".")[0])

    # What the catalogue knows

    def mapping(self, name: str) -> Mapping | None:
        """Return what becomes of the dotted name ``name`` on the target; None if no rule is about it."""
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            known = ".".join(parts[:count])
            if known not in self.catalog.rows:
                continue
            rule, row = self.catalog.rows[known]
            to = row.to if row.holds_for(self.version) else ""
            if count == len(parts) or known not in self.catalog.modules or is_in_house(to):
                return Mapping(known, to, rule, row)
            # A member of a mapped module that no row names: it is there on the NPU, too, or it isn't.
            member = f"{to}.{parts[count]}"
            found = bool(to) and self.api.has(member)
            return Mapping(f"{known}.{parts[count]}", member if found else "", rule, row)
        return None

    def name_of(self, module: str, at: cst.CSTNode) -> str | None:
        """Return the name by which ``module`` can be reached at ``at``; torch_npu will be imported."""
        scope: Scope | None = self.names.scope_at(at)
        while scope is not None:
            for bindings in scope.bindings.values():
                for binding in bindings:
                    if binding.kind == "import" and binding.target == module:
                        return binding.name
            scope = scope.parent
        return module if module == "torch_npu" else None
