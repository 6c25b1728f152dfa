"""What a repository needs before it runs on an NPU: the report and the inventory, counted and grouped."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cuda2npu.messages import say
from cuda2npu.report.model import Json
from cuda2npu.report.pinned import other_torch
from cuda2npu.settings import DEFAULT_SOC, DEFAULT_TORCH

if TYPE_CHECKING:
    from cuda2npu.inventory import Inventory, Package

SCHEMA = "cuda2npu-analysis/1"

# How much of a person's work a file is, from nothing to what nobody has solved yet.
EFFORTS = ("none", "low", "medium", "high")
# How a package stands, the worst first; see docs/analyze.md.
STATES = ("none", "replace", "port", "listed", "torch", "unknown", "works")
OPERATORS = ("NPU4",)
NATIVE = ("NPU50",)
MENTION = "NPU903"

_MOST_CHARACTERS = 60
_RISKS = ("blocker", "manual", "unsafe", "safe", "info")
_DOTTED = re.compile(r"[\w.]+")
_IN_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]$")  # what is only so in one place: "(2 kernels)"
_LAST_NAME = re.compile(r"\w+$")


def analysis(
    document: Json,
    inventory: Inventory,
    sources: Sequence[str],
    lang: str = "en",
    rules: Sequence[str] = (),
    origins: Mapping[str, str] | None = None,
) -> Json:
    """Return the analysis as a document of its own, ready for :func:`json.dumps`.

    :param document: the report of a run over the repository that wrote nothing.
    :param sources: what the user named, for the commands that come next.
    :param lang: language of the texts; the report's own are in it already.
    :param rules: further rule files that the user gave, which the commands need, too.
    :param origins: code of a rule of the user's -> the file that it stands in.
    """
    entries = document["files"]
    every = [(entry["path"], finding) for entry in entries for finding in entry["findings"]]
    # CUDA sources, and files that merely mention CUDA, are counted apart: each is one finding as a whole.
    others = [place for place in every if place[0] not in inventory.native]
    findings = [place for place in others if not _is_mention(*place, inventory)]
    mentioned = [path for path, finding in others if _is_mention(path, finding, inventory)]
    native = len(every) - len(others)
    offered = [(entry["path"], c) for entry in entries for c in entry["changes"] if c.get("site", True)]
    python = {entry["path"]: entry for entry in entries if entry["path"] in inventory.python}
    efforts = {path: _effort(python.get(path)) for path in inventory.python}
    required = other_torch(document)
    return {
        "schema": SCHEMA,
        "tool": document["tool"],
        "target": document["target"],
        "requires": dict(zip(("path", "torch"), required)) if required is not None else None,
        "totals": _totals(document, inventory, efforts),
        "uses": _uses(document["summary"], [finding for _, finding in findings], len(mentioned), native),
        "failed": [{key: e[key] for key in ("path", "error")} for e in entries if e["status"] == "failed"],
        "blockers": _groups((path, f) for path, f in findings if f["severity"] == "blocker"),
        "person": _groups((path, f) for path, f in findings if f["severity"] == "manual"),
        "unsafe": _groups((path, c) for path, c in offered if c["applicability"] == "unsafe"),
        "packages": [_package(package) for package in sorted(inventory.packages, key=_gravity)],
        "operators": _operators([*findings, *offered]),
        "native": {
            "files": [
                {"path": path, "lines": lines}
                for path, lines in sorted(inventory.native.items(), key=lambda item: (-item[1], item[0]))
            ],
            "findings": _groups((path, f) for path, f in every if f["rule"].startswith(NATIVE)),
        },
        "mentioned": sorted(set(mentioned)),
        "configuration": [
            _file(entry)
            for entry in sorted(entries, key=lambda entry: str(entry["path"]))
            if entry["path"] not in inventory.python and _is_configuration(entry, inventory)
        ],
        "files": sorted(
            ({**_file(python[path]), "effort": efforts[path]} for path in python if efforts[path] != "none"),
            key=_work,
        ),
        "next": _next(document, sources, lang, rules, origins or {}),
    }


def _effort(entry: Json | None) -> str:
    """Return the effort of a file, by the gravest of what is in it."""
    if entry is None:
        return "none"
    found = {finding["severity"] for finding in entry["findings"]}
    if entry["status"] == "failed" or "blocker" in found:
        return "high"
    changes = {change["applicability"] for change in entry["changes"]}
    if "manual" in found or "unsafe" in changes:
        return "medium"
    return "low" if changes else "none"


def _totals(document: Json, inventory: Inventory, efforts: dict[str, str]) -> Json:
    summary = document["summary"]
    return {
        "python_files": len(inventory.python),
        "notebooks": sum(path.endswith(".ipynb") for path in inventory.python),
        "lines": sum(inventory.python.values()),
        "native_files": len(inventory.native),
        "native_lines": sum(inventory.native.values()),
        "npu_files": inventory.npu,
        "effort": {effort: list(efforts.values()).count(effort) for effort in EFFORTS},
        "skipped": summary["skipped"],
        "failed": summary["failed"],
    }


def _is_configuration(entry: Json, inventory: Inventory) -> bool:
    """Whether there is something in a file that isn't Python, beside native code."""
    if entry["path"] in inventory.native:
        return False
    found = [finding["rule"] for finding in entry["findings"]]
    return bool(entry["changes"]) or any(not rule.startswith(NATIVE) for rule in found)


def _is_mention(path: str, finding: Json, inventory: Inventory) -> bool:
    """Whether the finding only says that a whole file, which isn't Python, mentions CUDA."""
    return finding["rule"] == MENTION and path not in inventory.python


def _uses(summary: Json, findings: Sequence[Json], mentions: int, native: int) -> Json:
    """Count what needs a change; beside it what ``convert`` counts with that, and what is kept."""
    safe, unsafe = summary["safe"], summary["unsafe"] + summary["offered"]
    severity = Counter(finding["severity"] for finding in findings)
    total = safe + unsafe + severity["manual"] + severity["blocker"]
    return {
        "total": total,
        "safe": safe,
        "unsafe": unsafe,
        "manual": severity["manual"],
        "blocker": severity["blocker"],
        "share": safe * 1000 // total / 1000 if total else None,  # rounded down: 1 means all
        "info": severity["info"],
        "kept": summary["kept"],
        "mentions": mentions,
        "native": native,
    }


def _groups(places: Iterable[tuple[str, Json]]) -> list[Json]:
    """Return what is the same as one entry, the most frequent first, with all places."""
    groups: dict[tuple[str, str, str], Json] = {}
    for path, place in places:
        advice = place.get("advice", "")
        message = _IN_BRACKETS.sub("", place["message"])
        key = place["rule"], message, advice
        group = groups.setdefault(
            key, {"rule": place["rule"], "message": message, "advice": advice, "places": []}
        )
        group["places"].append(_place(path, place))
    for group in groups.values():
        group["count"] = len(group["places"])
        group["files"] = len({place["path"] for place in group["places"]})
    return sorted(groups.values(), key=lambda group: (-group["count"], group["rule"], group["message"]))


def _place(path: str, place: Json) -> Json:
    cell = {"cell": place["cell"]} if "cell" in place else {}
    code = place["token"] if "token" in place else place["before"]
    return {"path": path, **cell, "line": place["line"], "code": _short(code)}


def _short(text: str) -> str:
    """Return the first line of a piece of code, cut off where it is long."""
    first = (text.strip().splitlines() or [""])[0]
    return first if len(first) <= _MOST_CHARACTERS else f"{first[: _MOST_CHARACTERS - 1]}…"


def _operators(places: Iterable[tuple[str, Json]]) -> list[Json]:
    """Return the operators and dtypes that rules are about, by name."""
    found: dict[tuple[str, str], Json] = {}
    for path, place in places:
        if not place["rule"].startswith(OPERATORS):
            continue
        at = _place(path, place)
        key = place["rule"], _name(at["code"])
        entry = found.setdefault(
            key,
            {
                "rule": key[0],
                "name": key[1],
                "severity": place["severity"] if "severity" in place else place["applicability"],
                "message": place["message"],
                "advice": place.get("advice", ""),
                "places": [],
            },
        )
        entry["places"].append(at)
    for entry in found.values():
        entry["count"] = len(entry["places"])
    return sorted(found.values(), key=_risk)


def _name(code: str) -> str:
    """Return the name of an operator or a dtype in the code that a rule is about, as short as it is clear."""
    if code.endswith("]"):
        return "[...]"  # which variable is indexed says nothing
    dotted = _DOTTED.match(code)
    found = _LAST_NAME.search(code) or _LAST_NAME.search(dotted[0] if dotted else "")
    return found[0] if found else code


def _risk(entry: Json) -> tuple[int, str, int, str]:
    return _RISKS.index(entry["severity"]), entry["rule"], -entry["count"], entry["name"]


def _gravity(package: Package) -> tuple[int, str]:
    return STATES.index(package.state or "listed"), package.name.lower()


def _package(package: Package) -> Json:
    return {
        "name": package.name,
        "state": package.state or "listed",
        "advice": package.advice,
        "optional": all(use.optional for use in package.uses),
        "files": len({use.path for use in package.uses}),
        "places": [{"path": use.path, "line": use.line} for use in package.uses],
    }


def _file(entry: Json) -> Json:
    changes = [change["applicability"] for change in entry["changes"]]
    found = [finding["severity"] for finding in entry["findings"]]
    return {
        "path": entry["path"],
        "safe": changes.count("safe"),
        "unsafe": sum(c["applicability"] == "unsafe" and c.get("site", True) for c in entry["changes"]),
        "manual": found.count("manual"),
        "blocker": found.count("blocker"),
    }


def _work(file: Json) -> tuple[int, int, int, int, str]:
    effort = EFFORTS.index(file["effort"])
    return -effort, -file["blocker"], -file["manual"], -file["unsafe"], file["path"]


def _next(
    document: Json, sources: Sequence[str], lang: str, rules: Sequence[str], origins: Mapping[str, str]
) -> list[Json]:
    """Return the commands that come next, each with what it is for."""
    target = document["target"]
    options = [f"--torch {target['torch']}"] if target["torch"] != DEFAULT_TORCH else []
    options += [f"--soc {target['soc']}"] if target["soc"] != DEFAULT_SOC else []
    options += [f"--rules {shlex.quote(path)}" for path in rules]
    named = " ".join([*map(shlex.quote, sources), *options])
    blockers = Counter(rule for rule, severity in _severities(document) if severity == "blocker")
    steps = []
    if document["summary"]["failed"]:
        steps.append(("step_failed", f"cuda2npu analyze {named} --exclude FILE"))
    for code, _ in blockers.most_common(1):
        origin = f" --rules {shlex.quote(origins[code])}" if code in origins else ""
        steps.append(("step_rule", f"cuda2npu rule {code}{origin}"))
    if document["summary"]["sites"]:
        steps += [
            ("step_diff", f"cuda2npu convert {named} --diff | less"),
            ("step_convert", f"cuda2npu convert {named} -o OUT"),
            ("step_run", "cd OUT && cuda2npu run --device sim SCRIPT ARGS..."),
            ("step_doctor", "cuda2npu doctor"),
        ]
    return [{"command": command, "what": say(key, lang)} for key, command in steps]


def _severities(document: Json) -> Iterator[tuple[str, str]]:
    for entry in document["files"]:
        yield from ((finding["rule"], finding["severity"]) for finding in entry["findings"])
