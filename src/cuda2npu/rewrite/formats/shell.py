"""Shell scripts: the variables and options that the converted Python code reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cuda2npu.catalog.rules import Catalog, Rule, Text, load_catalog
from cuda2npu.messages import say
from cuda2npu.rewrite.change import Applicability, Change, FileResult, Finding, Status, apply
from cuda2npu.rewrite.environment_values import carries_over
from cuda2npu.rewrite.formats.mention import mention
from cuda2npu.settings import Settings

_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch")
_SHEBANG = re.compile(rb"#!.*\b(?:ba|da|z|k)?sh\b")
# NAME=value, as a command of its own, behind export or env, or before a command.
_SET = re.compile(
    r"""(?:^|(?<=[\s;&|(`{]))(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s;&|)`]*)""", re.M
)
_READ = re.compile(r"(?<!\\)\$\{?(?P<name>[A-Z][A-Z0-9_]*)\b")
_UNSET = re.compile(r"\bunset[ \t]+(?P<name>[A-Z][A-Z0-9_]*)\b")
# --dist-backend nccl, --device=cuda:0
_OPTION = re.compile(
    r"--[\w-]*(?:(?P<backend>backend)|device)(?:=|[ \t]+)(?P<quote>[\"']?)(?P<word>nccl|cuda)(?::\d+)?"
    r"(?P=quote)(?=[\s;&|)\\]|$)"
)
_SKIP = re.compile(r"^[ \t]*#[ \t]*cuda2npu:[ \t]*skip-file\b", re.M)
_IGNORE = re.compile(r"#[ \t]*cuda2npu:[ \t]*ignore(?:\[([^\]]*)\])?")
_VALUE = re.compile(r"(?:[A-Z0-9_]=|--[\w-]+[= ])$")
_HERE = re.compile(r"<<-?[ \t]*(?P<quote>[\"']?)(?P<word>\w+)(?P=quote)")
DEVICE = "NPU003"
BACKEND = "NPU301"
OTHER_VALUE = "NPU602"


class _Place(NamedTuple):
    """Where the name of a variable stands, and the value that it is set to there, if it is."""

    name: str
    start: int
    value: str | None


def is_shell(path: str, data: bytes) -> bool:
    """Whether a file is a shell script, by its name or its first line."""
    return path.endswith(_SUFFIXES) or _SHEBANG.match(data) is not None


def convert(data: bytes, path: str, settings: Settings) -> FileResult | None:
    """Rename the variables and option values in a shell script; None if there is nothing to say."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return mention(data, path, settings)
    if _SKIP.search(text):
        return FileResult(path, Status.SKIPPED, "utf-8", say("skip_file", settings.lang), text)
    script = _Script(text, settings)
    script.look_at_variables()
    script.look_at_options()
    changes = sorted(script.changes, key=lambda change: change.start)
    applied = [change for change in changes if change.applied]
    rest = mention(_blanked(text, script.dealt_with).encode(), path, settings)
    findings = [*script.findings, *(rest.findings if rest is not None else ())]
    if not changes and not findings:
        return None
    return FileResult(
        path,
        Status.CHANGED if applied else Status.UNCHANGED,
        "utf-8",
        text=text,
        data=apply(text, applied).encode() if applied else data,
        changes=changes,
        findings=sorted(findings, key=lambda finding: finding.start),
    )


class _Script:
    def __init__(self, text: str, settings: Settings) -> None:
        self.text = text
        self.settings = settings
        self.catalog: Catalog = load_catalog(settings.rules)
        self.code = _code_only(text)
        self.changes: list[Change] = []
        self.findings: list[Finding] = []
        self.dealt_with: list[tuple[int, int]] = []

    def look_at_variables(self) -> None:
        """A variable is renamed wherever it stands, if every value that it is set to carries over."""
        places = list(self.places())
        for name in {place.name for place in places}:
            found = self.catalog.rows.get(name)
            if found is None or found[0].codemod != "environment":
                continue
            rule, row = found
            here = [place for place in places if place.name == name]
            if row.to and all(_may_carry_over(place) for place in here):
                for place in here:
                    self.replace(rule, place.start, name, row.to)
                continue
            rule = self.catalog.rules[OTHER_VALUE] if row.to else rule
            for place in here:
                if place.value is not None:
                    self.report(rule, place.start, name, row.note)

    def places(self) -> Iterator[_Place]:
        for match in _SET.finditer(self.code):
            yield _Place(match["name"], match.start("name"), match["value"].strip("\"'"))
        for pattern, text in ((_READ, _code_only(self.text, expanded=True)), (_UNSET, self.code)):
            for match in pattern.finditer(text):
                yield _Place(match["name"], match.start("name"), None)

    def look_at_options(self) -> None:
        """The values of options that the converted program reads as a device or a backend."""
        for match in _OPTION.finditer(self.code):
            backend = match["backend"] is not None
            if backend == (match["word"] == "nccl"):
                rule = self.catalog.rules[BACKEND if backend else DEVICE]
                self.replace(rule, match.start("word"), match["word"], "hccl" if backend else "npu")

    def is_wanted(self, rule: Rule, start: int) -> bool:
        """Whether the rule is selected, and not switched off by a comment on the line."""
        end = self.text.find("\n", start)
        line = self.text[self.text.rfind("\n", 0, start) + 1 : end if end >= 0 else None]
        comment = _IGNORE.search(line)
        codes = [code.strip() for code in (comment[1] or "").split(",")] if comment else []
        if comment and (codes == [""] or any(rule.code.startswith(code) for code in codes if code)):
            return False
        return self.settings.selects(rule.code, rule.default)

    def replace(self, rule: Rule, start: int, before: str, after: str) -> None:
        if not self.is_wanted(rule, start):
            return
        message = rule.summary.in_language(self.settings.lang)
        end = start + len(before)
        self.changes.append(Change(rule.code, Applicability.SAFE, True, start, end, before, after, message))
        self.dealt_with.append((start, end))

    def report(self, rule: Rule, start: int, name: str, note: Text) -> None:
        if not self.is_wanted(rule, start):
            return
        lang = self.settings.lang
        advice = note.in_language(lang) or rule.advice.in_language(lang)
        end = start + len(name)
        self.findings.append(
            Finding(rule.code, rule.severity, start, end, rule.summary.in_language(lang), advice)
        )
        self.dealt_with.append((start, end))


def _may_carry_over(place: _Place) -> bool:
    """Whether a value carries over; one that is put together when the script runs may."""
    value = place.value
    return value is None or "$" in value or "`" in value or carries_over(place.name, value)


def _code_only(text: str, expanded: bool = False) -> str:
    """Return the text with comments, quoted words that aren't values, and here-documents blanked out.

    What stands there may be for another shell, another program, or a person.

    :param expanded: keep what the shell expands variables in: double quotes, and here-documents whose
        end isn't quoted.
    """
    out = []
    until, keep = "", False  # the end of the here-document that the line is in
    for line in text.splitlines(keepends=True):
        if until:
            out.append(line if keep else _blank(line))
            until = "" if line.strip() == until else until
            continue
        begins = _without_quoted(line, expanded=False).find("<<")
        here = _HERE.match(line, begins) if begins >= 0 else None
        until, keep = (here["word"], expanded and not here["quote"]) if here else ("", False)
        out.append(_without_quoted(line, expanded))
    return "".join(out)


def _without_quoted(line: str, expanded: bool) -> str:
    """Blank out the comment of a line, and what is quoted but no value of ``NAME=`` or ``--option``."""
    out = list(line)
    quote, opened = "", 0
    position = 0
    while position < len(line):
        character = line[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if quote:
            if character == quote:
                kept = _VALUE.search(line[:opened]) or (expanded and quote == '"')
                if not kept:
                    out[opened : position + 1] = _blank(line[opened : position + 1])
                quote = ""
        elif character in "\"'":
            quote, opened = character, position
        elif character == "#" and (position == 0 or line[position - 1].isspace()):
            out[position:] = _blank(line[position:])
            break
        position += 1
    if quote and not expanded:  # a text of several lines
        out[opened:] = _blank(line[opened:])
    return "".join(out)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the text without what has been dealt with, so that only the rest is mentioned."""
    out = list(text)
    for start, end in spans:
        out[start:end] = " " * (end - start)
    lines = (
        line if not line.lstrip().startswith("#") else _blank(line) for line in "".join(out).splitlines(True)
    )
    return "".join(lines)
