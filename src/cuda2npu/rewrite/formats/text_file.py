"""A text that isn't Python while it is converted: spans that change, and places that are left to a person."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cuda2npu.catalog.grades import Applicability
from cuda2npu.catalog.load import load_catalog_for
from cuda2npu.catalog.rules import Catalog, Row, Rule, Text
from cuda2npu.messages import say
from cuda2npu.rewrite.change import Change, FileResult, Finding, Kept, Status, apply
from cuda2npu.rewrite.formats.comments import Comments, Switches, switches
from cuda2npu.rewrite.formats.mention import RULE as MENTION
from cuda2npu.rewrite.formats.mention import mention
from cuda2npu.rewrite.words import cuda_words
from cuda2npu.settings import Settings

_COMMENT = re.compile(r"^[ \t]*[#;]")
_BEHIND = re.compile(r"(?<=[ \t])#")


@dataclass
class TextFile:
    """The decoded text, and what was found in it so far.

    :param path: path relative to the tree that is converted, with forward slashes.
    :param text: the text without BOM, newlines untouched.
    :param dealt_with: spans that need no further mention.
    :param serves_npu: whether the text has a part for the NPU already. Then nothing in it is replaced, for
        what it has for CUDA is to stay; what a person has to know of it is still reported.
    :param records: where it holds data and texts for people, in order.
    """

    path: str
    text: str
    settings: Settings
    bom: bytes = b""
    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    dealt_with: list[tuple[int, int]] = field(default_factory=list)
    serves_npu: bool = False
    kept: list[Kept] = field(default_factory=list)
    records: Sequence[tuple[int, int]] = ()
    uses_torch: bool = True
    held: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.has_comments(Comments())

    @classmethod
    def read(cls, data: bytes, path: str, settings: Settings) -> TextFile | None:
        """Decode the bytes of a file; None if they aren't UTF-8, with or without a BOM."""
        bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        try:
            return cls(path, data[len(bom) :].decode("utf-8"), settings, bom) if b"\0" not in data else None
        except UnicodeDecodeError:
            return None

    @cached_property
    def catalog(self) -> Catalog:
        """The rules."""
        return load_catalog_for(self.settings.target, self.settings.rules)

    def has_comments(self, comments: Comments) -> None:
        """Say where the text can have comments, before rules report anything."""
        self._switches: Switches = switches(self.text, comments)

    def waits(self, *names: str) -> bool:
        """Whether a device or a backend under these names may only be offered.

        It may where no Python code beside it works with torch, and where another file holds a name back.
        """
        return not self.uses_torch or any(name in self.held for name in names)

    # What rules report to

    def replace(
        self,
        code: str,
        start: int,
        before: str,
        after: str,
        *,
        note: Text | None = None,
        unsafe: bool = False,
    ) -> None:
        """Replace ``before``, which stands at ``start``, under the rule ``code``.

        :param unsafe: whether this very change rests on a guess, though the rule's others don't.
        """
        rule = self.catalog.rules[code]
        end = start + len(before)
        if self.serves_npu and rule.applicability is Applicability.UNSAFE:  # about more than the device
            self.report(code, start, end, note=note)
            return
        if not self._is_wanted(rule, start, end) or self.serves_npu:
            return
        message = self._say(rule.summary)
        if note is not None and self._say(note):
            message = say("with_note", self.settings.lang, message=message, note=self._say(note))
        applicability = Applicability.UNSAFE if unsafe else rule.applicability
        applied = applicability is Applicability.SAFE or self.settings.unsafe
        self.changes.append(Change(code, applicability, applied, start, end, before, after, message))
        self.dealt_with.append((start, end))

    def report(
        self,
        code: str,
        start: int,
        end: int,
        *,
        note: Text | None = None,
        joined: bool = False,
    ) -> None:
        """Leave a place to a person, under the rule ``code``.

        :param note: advice for this very place.
        :param joined: one finding is enough for this place and the one on the line before, if both have
            the same advice: a list of frozen requirements has dozens.
        """
        rule = self.catalog.rules[code]
        if not self._is_wanted(rule, start, end):
            return
        advice = (self._say(note) if note is not None else "") or self._say(rule.advice)
        self.dealt_with.append((start, end))
        last = self.findings[-1] if joined and self.findings else None
        if last is not None and (last.rule, last.advice) == (code, advice) and self._is_next(last.end, start):
            self.findings[-1] = replace(last, end=end)
            return
        self.findings.append(Finding(code, rule.severity, start, end, self._say(rule.summary), advice))

    def keep(self, code: str, start: int, end: int) -> None:
        """Leave a place as it is, since a comment switches the rule ``code`` off there."""
        self.dealt_with.append((start, end))
        if any((kept.start, kept.end) == (start, end) for kept in self.kept):
            return  # two rules may be about the same word
        reason = self._say(self.catalog.reasons["suppressed"])
        self.kept.append(Kept(code, start, end, self.text[start:end].split("\n")[0][:60], reason))

    def _is_next(self, end: int, start: int) -> bool:
        """Whether a place starts behind ``end``, on the same line or the next one."""
        return end <= start and self.text.count("\n", end, start) <= 1

    def rows(self, codemod: str) -> Sequence[tuple[Rule, Row]]:
        """Return the rows of the rules with this codemod."""
        return self.catalog.others.get(codemod, ())

    def _say(self, text: Text) -> str:
        return text.in_language(self.settings.lang)

    def _is_wanted(self, rule: Rule, start: int, end: int) -> bool:
        """Whether the rule is selected, and not switched off by a comment: then the place is settled."""
        if self.is_suppressed(rule.code, start):
            self.keep(rule.code, start, end)
            return False
        return self.settings.selects(rule.code, rule.default)

    def is_suppressed(self, code: str, offset: int) -> bool:
        """Whether a comment on the line, or alone on the line above it, switches a rule off."""
        if not self._switches.lines:
            return False
        codes = self._switches.lines.get(bisect_right(self._line_starts, offset) - 1)
        return codes is not None and (not codes or code.startswith(codes))

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    # What comes out

    @property
    def is_skipped(self) -> bool:
        """Whether a comment says that the file is to be left alone."""
        return self._switches.skip_file

    def skipped(self) -> FileResult:
        """Return the result for a file that is to be left alone."""
        reason = say("skip_file", self.settings.lang)
        return FileResult(self.path, Status.SKIPPED, "utf-8", reason, self.text)

    def changed_text(self) -> str:
        """Return the text with the applied changes."""
        return apply(self.text, self._applied())

    def unreadable(self, code: str, reason: str) -> FileResult | None:
        """Return the result for a file that can't be read as what it seems to be: its lines are named."""
        found = mention(self._rest().encode(), self.path, self.settings, code, reason)
        if found is None and not self.kept:
            return None
        findings = found.findings if found is not None else ()
        return FileResult(
            self.path, Status.UNCHANGED, "utf-8", text=self.text, findings=findings, kept=self.kept
        )

    def result(self) -> FileResult | None:
        """Return what was done and found, and the lines that are left; None if there is nothing to say."""
        rest = mention(self._rest().encode(), self.path, self.settings, records=self.records)
        findings = [*self.findings, *(rest.findings if rest is not None else ())]
        if not self.changes and not findings and not self.kept:
            return None
        applied = self._applied()
        return FileResult(
            self.path,
            Status.CHANGED if applied else Status.UNCHANGED,
            "utf-8",
            text=self.text,
            data=self.bom + apply(self.text, applied).encode() if applied else b"",
            changes=sorted(self.changes, key=lambda change: (change.start, change.end)),
            findings=sorted(findings, key=lambda finding: finding.start),
            kept=sorted(self.kept, key=lambda kept: kept.start),
        )

    def _applied(self) -> list[Change]:
        applied = [change for change in self.changes if change.applied]
        return sorted(applied, key=lambda change: (change.start, change.end))

    def _rest(self) -> str:
        """Return the text without comments and what has been dealt with: only the rest is mentioned.

        A line with a finding is named already, so that a mention would say less about it a second time.
        """
        named = {self.text.rfind("\n", 0, finding.start) + 1 for finding in self.findings}
        out = list(self.text)
        for start, end in self.dealt_with:
            out[start:end] = " " * (end - start)
        at, lines = 0, []
        for line in without_comments("".join(out)).splitlines(keepends=True):
            settled = at in named or self.is_suppressed(MENTION, at)
            if settled and at not in named:
                self._keep_words(at, line)
            lines.append(blank(line) if settled else line)
            at += len(line)
        return "".join(lines)

    def _keep_words(self, at: int, line: str) -> None:
        """List the CUDA words of a line that is switched off, and starts at ``at``."""
        for word in re.finditer(r"\w+", line):
            if any(True for _ in cuda_words(word[0])):
                self.keep(MENTION, at + word.start(), at + word.end())


def without_comments(text: str) -> str:
    """Return a text with its comments blanked out: those of whole lines, and those behind something."""
    lines = text.splitlines(keepends=True)
    return "".join(blank(line) if _COMMENT.match(line) else _without_comment(line) for line in lines)


def _without_comment(line: str) -> str:
    """Blank out the comment at the end of a line; a ``#`` inside of quotes begins none."""
    for match in _BEHIND.finditer(line):
        if not any(line.count(quote, 0, match.start()) % 2 for quote in "\"'"):
            return line[: match.start()] + blank(line[match.start() :])
    return line


def blank(text: str) -> str:
    """Return a text of the same length and with the same lines, but with nothing in them."""
    return re.sub(r"[^\r\n]", " ", text)
