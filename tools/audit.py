#!/usr/bin/env python3
"""Check a converted tree against its report: what the report promises must hold, byte for byte.

    audit.py SRC OUT [--torch 2.7.1]

For each Python file of SRC:

- bytes     the written file is the original with exactly the applied changes; same encoding, BOM, mode
- order     applied changes are in order and apart, and ``before`` is what stands there
- compiles  what this Python could compile before, it can compile afterwards
- silent    every CUDA word in code lies on a line with a change, a finding or a kept entry
- names     every torch.npu and torch_npu name in an applied change is in the target's API table

and for the whole: every file of SRC is in OUT, and converting OUT once more changes nothing. The exit
status is 0 only if nothing was found.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cuda2npu.catalog.api import ApiTable, api_table
from cuda2npu.rewrite.source import Source, SourceError, decode
from cuda2npu.rewrite.words import CUDA_WORD
from cuda2npu.settings import DEFAULT_TORCH, Target

Fault = tuple[str, str, str]  # kind, place, what
NPU_NAME = re.compile(r"\b(?:torch\.npu|torch_npu)(?:\.[A-Za-z_]\w*)+")
LEFT_OUT = {".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", "cuda2npu-report"}
LEFT_OUT |= {".mypy_cache", ".ruff_cache", ".pytest_cache"}
FSTRING_MIDDLE = getattr(tokenize, "FSTRING_MIDDLE", -1)


def main() -> int:
    """Run the checks that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("src", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--torch", default=DEFAULT_TORCH)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the audited code's own
    report = json.loads((options.out / "cuda2npu-report" / "report.json").read_text(encoding="utf-8"))
    entries = {entry["path"]: entry for entry in report["files"]}
    api = api_table(Target(options.torch).version)
    faults, counts = [], Counter[str]()
    for path in sorted(options.src.rglob("*")):
        name = path.relative_to(options.src)
        if LEFT_OUT & set(name.parts) or path.is_symlink() or not path.is_file():
            continue
        counts["files"] += 1
        faults += audit_file(
            path, options.out / name, name.as_posix(), entries.get(name.as_posix()), api, counts
        )
    faults += audit_again(options.out, options.torch)
    summarise(faults, counts)
    return 1 if faults else 0


def audit_file(
    old: Path, new: Path, name: str, entry: dict[str, Any] | None, api: ApiTable, counts: Counter[str]
) -> Iterator[Fault]:
    """Yield what is wrong with one file of the output."""
    if not new.is_file():
        yield "missing", name, "is not in the output"
        return
    before, after = old.read_bytes(), new.read_bytes()
    if old.stat().st_mode & 0o777 != new.stat().st_mode & 0o777:
        yield "bytes", name, "permission bits differ"
    applied = [change for change in (entry or {}).get("changes", ()) if change["applied"]]
    python = name.endswith((".py", ".pyi"))
    text = bool(applied) and not name.endswith(".ipynb")  # a script or a configuration that was converted
    try:
        source = decode(before) if python or text else None
    except SourceError:
        source = None
    if source is None or (entry is not None and entry["status"] == "failed"):
        if before != after:
            yield "bytes", name, "changed, though it was not converted"
        return
    counts["applied"] += len(applied)
    yield from audit_changes(source, after, name, applied)
    if python and compiles(before):
        if not compiles(after):
            yield "compiles", name, "did before, does not now"
        yield from audit_words(source.text, name, entry or {}, counts)
    for change in applied:
        for used in NPU_NAME.findall(change["after"]):
            counts["names"] += 1
            if not known(used, api):
                yield "names", f"{name}:{change['line']}", used


def audit_changes(source: Source, after: bytes, name: str, applied: list[dict[str, Any]]) -> Iterator[Fault]:
    """Carry the changes out once more, by hand, and compare."""
    parts, at, text = [], 0, source.text
    for change in applied:
        start, end = change["start"], change["end"]
        if start < at or end < start or text[start:end] != change["before"]:
            yield "order", f"{name}:{change['line']}", f"{change['rule']} does not fit"
            return
        parts += [text[at:start], change["after"]]
        at = end
    if source.encode("".join(parts) + text[at:]) != after:
        yield "bytes", name, "is not the original with the applied changes"


def audit_words(text: str, name: str, entry: dict[str, Any], counts: Counter[str]) -> Iterator[Fault]:
    """Look for CUDA words on lines that the report doesn't mention."""
    kinds = ("changes", "findings", "kept")
    places = [place for kind in kinds for place in entry.get(kind, ())]
    mentioned = {line for place in places for line in range(place["line"], place["end_line"] + 1)}
    for line, token in code_words(text):
        counts["words"] += 1
        if line not in mentioned:
            yield "silent", f"{name}:{line}", token


def code_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and token of every CUDA word in code; comments and docstrings aren't code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in (tokenize.NAME, tokenize.STRING, FSTRING_MIDDLE):
                continue
            if token.type == tokenize.STRING and token.start[0] in docstrings:
                continue
            for number, line in enumerate(token.string.split("\n")):
                if CUDA_WORD.search(line):
                    yield token.start[0] + number, line.strip()[:60]
    except tokenize.TokenError:
        return


def compiles(data: bytes) -> bool:
    """Whether this Python takes ``data`` as a module."""
    try:
        compile(data, "audited", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def known(name: str, api: ApiTable) -> bool:
    """Whether the table has the name, or a class or function that it is an attribute of."""
    parts = name.split(".")
    return any(api.has(".".join(parts[:count])) for count in range(len(parts), 2, -1))


def audit_again(out: Path, torch: str) -> Iterator[Fault]:
    """Convert the output once more."""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again"
        command = [sys.executable, "-m", "cuda2npu", "convert", str(out), "-o", str(again), "--torch", torch]
        subprocess.run([*command, "--quiet"], stdout=subprocess.DEVNULL, check=False)
        report = json.loads((again / "cuda2npu-report" / "report.json").read_text(encoding="utf-8"))
    for entry in report["files"]:
        for change in entry["changes"]:
            if change["applied"]:
                yield "again", f"{entry['path']}:{change['line']}", f"{change['rule']} in a second run"


def summarise(faults: list[Fault], counts: Counter[str]) -> None:
    """Print the counts, and the first faults of each kind."""
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    kinds = Counter(kind for kind, _, _ in faults)
    for kind, count in kinds.items():
        print(f"{kind}: {count}")
        for _, where, what in [fault for fault in faults if fault[0] == kind][:8]:
            print(f"    {where}: {what}")
    if not faults:
        print("nothing found")


if __name__ == "__main__":
    sys.exit(main())
