"""The report on one screen: the numbers, the files that need a person first, what failed, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from cuda2npu.messages import say
from cuda2npu.report.model import Json
from cuda2npu.report.page import Page, pad
from cuda2npu.report.pinned import other_torch

MOST_FILES = 10
MOST_REASONS = 3


def print_summary(
    document: Json,
    page: Page,
    *,
    lang: str = "en",
    written: bool = True,
    places: Mapping[str, Path],
    check: str = "cuda2npu check",
) -> None:
    """Print the summary.

    :param written: whether the changes were written, or only would be.
    :param places: message key (``report_at`` …) -> path of what was left on disk.
    :param check: the command that lists what is left.
    """
    summary = _Summary(page, lang, check)
    summary.numbers(document, written)
    required = other_torch(document)
    if required is not None:
        page.paragraph(say("other_torch", lang, path=required[0], version=required[1]))
    summary.people_first(document["files"])
    summary.without_result(document["files"], "failed")
    summary.without_result(document["files"], "skipped")
    for key, path in places.items():
        page.line(say(key, lang, path=path))
    page.line(
        say("next", lang, what=say(_next(document["summary"], written), lang, check=check)), style="bold"
    )


def _next(total: Json, written: bool) -> str:
    """Return the key of the advice that comes first."""
    if total["failed"]:
        return "next_failed"
    if not written and total["changed"]:
        return "next_dry"
    if total["severity"]["blocker"] or total["severity"]["manual"]:
        return "next_person"
    if total["sites"]:
        return "next_read"
    return "next_kept" if total["kept"] or total["skipped"] else "next_nothing"


class _Summary:
    """The parts of the summary, on one page, in one language."""

    def __init__(self, page: Page, lang: str, check: str) -> None:
        self.page = page
        self.lang = lang
        self.check = check

    def numbers(self, document: Json, written: bool) -> None:
        """Print what was counted."""
        total, lang = document["summary"], self.lang
        severity = total["severity"]
        title = say("title", lang, version=document["tool"]["version"], **document["target"])
        self.page.line(title, style="bold")
        rows = [
            ("", "files", total["files"], ""),
            ("  ", "changed" if written else "would_change", total["changed"], ""),
            ("  ", "failed", total["failed"], ""),
            ("", "skipped", total["skipped"], ""),
            ("", "sites", total["sites"], ""),
            ("  ", "safe" if written else "would_safe", total["safe"], ""),
            ("  ", "unsafe" if written else "would_unsafe", total["unsafe"], ""),
            ("  ", "offered", total["offered"], "offered_hint"),
            ("  ", "person", severity["blocker"] + severity["manual"], ""),
            ("    ", "blocker", severity["blocker"], ""),
            ("    ", "manual", severity["manual"], ""),
            ("  ", "info", severity["info"], ""),
            ("", "kept", total["kept"], ""),
        ]
        labels = pad([indent + say(key, lang) for indent, key, _, _ in rows])
        for label, (_, key, count, hint) in zip(labels, rows):
            if count or key not in ("unsafe", "would_unsafe", "skipped"):
                after = f"  {say(hint, lang, check=self.check)}" if hint and count else ""
                self.page.line(f"{label} {count:6}{after}")

    def people_first(self, files: list[Json]) -> None:
        """Print the files with the most that won't run, or else must be looked at."""
        ranked = []
        for entry in files:
            count = Counter(finding["severity"] for finding in entry["findings"])
            if count["blocker"] or count["manual"]:
                ranked.append((-count["blocker"], -count["manual"], entry["path"], entry))
        if not ranked:
            return
        ranked.sort(key=lambda row: row[:3])
        self.page.line(say("first", self.lang), style="bold yellow")
        for blocker, manual, path, entry in ranked[:MOST_FILES]:
            counts = say("counts", self.lang, blocker=-blocker, manual=-manual)
            self.page.line(f"{path} ({counts})", indent=2)
            self._reasons(entry)
        if len(ranked) > MOST_FILES:
            self.page.line(say("more", self.lang, count=len(ranked) - MOST_FILES), indent=2)

    def _reasons(self, entry: Json) -> None:
        findings = [finding for finding in entry["findings"] if finding["severity"] != "info"]
        findings.sort(key=lambda found: (found["severity"] != "blocker", found.get("cell", 0), found["line"]))
        for finding in findings[:MOST_REASONS]:
            cell = f":cell {finding['cell']}" if "cell" in finding else ""
            where = f"{entry['path']}{cell}:{finding['line']}"
            self.page.paragraph(f"{where} {finding['rule']} {finding['message']}", indent=4)
        if len(findings) > MOST_REASONS:
            self.page.line(say("more", self.lang, count=len(findings) - MOST_REASONS), indent=4)

    def without_result(self, files: list[Json], status: str) -> None:
        """Print the files that failed or were skipped, each with the reason."""
        entries = [entry for entry in files if entry["status"] == status]
        if not entries:
            return
        self.page.line(say(f"{status}_files", self.lang), style="bold red" if status == "failed" else "bold")
        for entry in entries[:MOST_FILES]:
            self.page.paragraph(f"{entry['path']}: {entry['error']}", indent=2)
        if len(entries) > MOST_FILES:
            self.page.line(say("more", self.lang, count=len(entries) - MOST_FILES), indent=2)
