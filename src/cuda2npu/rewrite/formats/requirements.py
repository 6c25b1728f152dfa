"""Requirements: packages for NVIDIA's hardware, builds of torch for CUDA, and torch_npu."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from cuda2npu.catalog.compatibility import Release, compatibility
from cuda2npu.catalog.releases import order, release
from cuda2npu.catalog.rules import Row, Rule, Text
from cuda2npu.rewrite.formats.text_file import TextFile
from cuda2npu.settings import Target

CUDA_BUILD = "NPU631"
TORCH_NPU = "NPU632"
OTHER_VERSION = "NPU633"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
# A distribution with its extras, and what is asked of its version, by pip or conda: torch[opt]>=2, torch=2.1
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?[ \t]*(?P<rest>.*)", re.S)
# In a file of pip's nothing but a version, a marker or an option stands behind the name.
_A_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*[ \t]*(?:\[[^\]]*\])?[ \t]*(?:$|[=<>!~;@(\\]|--)")
_MARKER = re.compile(r";.*")  # sys_platform == "linux"
_SPECIFIER = re.compile(r"[=<>!~][^;#\s]*(?:[ \t]*,[ \t]*[=<>!~][^;#\s]*|[ \t]+[\d][^;#\s]*)*")
_CUDA_VERSION = re.compile(r"(?:\+|%2[Bb])cu\d+|[=_.-]cu(?:da)?\d{2,}|cuda")
_CUDA_INDEX = re.compile(r"/(?:whl|wheel|wheels)/(?:nightly/|test/)?cu\d+|/cu\d{2,}\b")
_WHEEL = re.compile(r".*/(?P<name>[A-Za-z0-9_.]+?)-(?P<version>\d[\w.]*)[^/]*\.(?:whl|tar\.gz|zip)")
_LOCAL = re.compile(r"\+[\w.]+")  # the build: +cu124, +cpu
_TORCH_FAMILY = {"torch", "torchvision", "torchaudio", "torchtext", "pytorch"}
_OF_TORCH = {"cudatoolkit", "pytorch-cuda"}  # packages of conda that choose the build of torch


class Found(NamedTuple):
    """A distribution that is asked for."""

    name: str
    specifier: str


def look_at_file(file: TextFile) -> None:
    """Look at the lines of a requirements or constraints file, and offer the torch_npu for the target."""
    torch: tuple[int, str] | None = None
    has_torch_npu = False
    for start, line in _lines(file.text):
        code = _COMMENT.sub("", line).rstrip()
        stripped = code.lstrip()
        at = start + len(code) - len(stripped)
        if is_url(stripped):
            look_at_url(file, at, stripped)
            found = _wheel(stripped)
        elif _A_REQUIREMENT.match(stripped):
            found = look_at_requirement(file, at, stripped)
        else:
            continue  # prose: "torch is needed, and a GPU."
        if found is None:
            continue
        has_torch_npu = has_torch_npu or found.name == "torch-npu"
        fits = found.name == "torch" and _may_be_target(found.specifier, file.settings.target)
        if fits and torch is None and not stripped.endswith("\\"):
            torch = (start, line)
    # With hashes pip takes only lines that have one; constraints install nothing.
    takes_lines = "--hash" not in file.text and "constraint" not in file.path
    if torch is not None and takes_lines and not has_torch_npu:
        _offer_torch_npu(file, *torch)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for match in _LINE.finditer(text):
        yield match.start(), match[0]


def _offer_torch_npu(file: TextFile, start: int, line: str) -> None:
    """Insert the requirement of torch_npu below the line with torch."""
    marker = _MARKER.search(_COMMENT.sub("", line))
    wanted = f"torch_npu=={_npu_version(file.settings.target)}{marker[0].rstrip() if marker else ''}"
    ending = line[len(line.rstrip("\r\n")) :]
    end = start + len(line)
    inserted = wanted + ending if ending else "\n" + wanted
    file.replace(TORCH_NPU, end, "", inserted, note=_note(file, TORCH_NPU))


def look_at_requirement(file: TextFile, start: int, text: str) -> Found | None:
    """Report a requirement that an NPU machine can't meet; return what is asked for, if it is one."""
    match = _REQUIREMENT.match(text)
    if match is None:
        return None
    name = re.sub(r"[-_.]+", "-", match["name"]).lower()
    specifier = _SPECIFIER.match(match["rest"])
    found = Found(name, specifier[0].strip() if specifier else "")
    end = start + len(text[: match.start("rest") + (specifier.end() if specifier else 0)].rstrip())
    if (name in _TORCH_FAMILY and _CUDA_VERSION.search(found.specifier)) or name in _OF_TORCH:
        _report_torch(file, CUDA_BUILD, start, end)
    elif name in ("torch", "pytorch") and not _may_be_target(found.specifier, file.settings.target):
        _report_torch(file, OTHER_VERSION, start, end)
    elif (known := _package(file, name)) is not None:
        rule, row = known
        file.report(rule.code, start, end, note=row.note, joined=True)
    return found


def _wheel(text: str) -> Found | None:
    """Return the distribution, and its version without the build, that the address of a wheel names."""
    wheel = _WHEEL.match(text)
    if wheel is None:
        return None
    return Found(re.sub(r"[-_.]+", "-", wheel["name"]).lower(), f"=={wheel['version']}")


def is_url(text: str) -> bool:
    """Whether a line or an item is an option, an address or a file, and not the name of a package."""
    return text.startswith("-") or "://" in text or text.endswith(".whl")


def look_at_pinned(file: TextFile, start: int, name: str, version: str) -> None:
    """Look at a package that is given as the name and the version of a table: ``torch = "2.1.0+cu118"``.

    :param start: where the name stands.
    """
    if name in _TORCH_FAMILY and _CUDA_VERSION.search(version):
        _report_torch(file, CUDA_BUILD, start, start + len(name))
    else:
        look_at_requirement(file, start, name)


def look_at_channel(file: TextFile, start: int, name: str) -> None:
    """Report the channel of conda that has the builds for CUDA."""
    if name.strip() == "nvidia" or name.startswith("nvidia/"):
        _report_torch(file, CUDA_BUILD, start, start + len(name))


def look_at_url(file: TextFile, start: int, text: str) -> None:
    """Report an index with builds for CUDA, and a wheel of a package for NVIDIA's hardware."""
    if _CUDA_INDEX.search(text):
        _report_torch(file, CUDA_BUILD, start, start + len(text))
        return
    name, separator, _ = text.partition("@")
    wheel = _WHEEL.match(text)
    if separator and ("://" not in name) and _REQUIREMENT.fullmatch(name.strip()):
        _report_package(file, start, text, name.strip())
    elif wheel is not None:
        _report_package(file, start, text, wheel["name"])
    elif text.startswith(("git+", "https://github.com/")):
        _report_package(file, start, text, re.sub(r"(?:\.git)?(?:@.*|#.*)?$", "", text).rpartition("/")[2])


def _report_package(file: TextFile, start: int, text: str, name: str) -> None:
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name in _TORCH_FAMILY and _CUDA_VERSION.search(text):
        _report_torch(file, CUDA_BUILD, start, start + len(text))
    elif (known := _package(file, name)) is not None:
        file.report(known[0].code, start, start + len(text), note=known[1].note, joined=True)


def _report_torch(file: TextFile, code: str, start: int, end: int) -> None:
    file.report(code, start, end, note=_note(file, code))


def _note(file: TextFile, code: str) -> Text:
    """Return the note of a rule about torch, with the target's versions filled in."""
    target = file.settings.target
    if _release(target) is None and code == TORCH_NPU:
        return Text()  # newer than the table
    return filled(file.catalog.rules[code].rows[0].note, target)


def filled(note: Text, target: Target) -> Text:
    """Return ``note`` with the versions of torch, torch_npu and CANN in the places that are left for them."""
    known = _release(target)
    values = {
        "torch": _torch_version(target),
        "torch_npu": _npu_version(target),
        "post": known.torch_npu if known else "",
        "cann": known.cann if known else "",
    }
    return Text(note.en.format(**values), note.zh.format(**values))


def _package(file: TextFile, name: str) -> tuple[Rule, Row] | None:
    """Return the row about a distribution: one of its own, or that of the package it brings."""
    rows = file.rows("distribution")
    for pattern, row_name in file.catalog.distributions.items():
        if fnmatchcase(name, pattern) and row_name in file.catalog.rows:
            return rows[0][0], file.catalog.rows[row_name][1]
    return next(((rule, row) for rule, row in rows if fnmatchcase(name, row.name)), None)


# Versions


@lru_cache(maxsize=16)
def _release(target: Target) -> Release | None:
    """Return the newest row of the compatibility table for the target's torch, or for its minor version."""
    exact = [row for row in compatibility().releases if row.torch == release(target.torch)]
    if exact:
        return max(exact, key=lambda row: order(row.torch_npu) or ())
    return compatibility().suggestion(torch=target.torch) if target.torch.count(".") < 2 else None


def _torch_version(target: Target) -> str:
    known = _release(target)
    return known.torch if known is not None else release(target.torch)


def _npu_version(target: Target) -> str:
    """Return what to require of torch_npu: any post release of the target's version."""
    return f"{_torch_version(target)}.*"


def _may_be_target(specifier: str, target: Target) -> bool:
    """Whether a requirement of torch takes the target's version, in any build; what can't be read may."""
    specifier = _LOCAL.sub("", specifier)
    if re.match(r"=[^=]", specifier):  # conda: torch=2.1, torch=2.1.0=build
        specifier = "==" + specifier[1:].partition("=")[0].rstrip(".*") + ".*"
    try:
        return SpecifierSet(specifier).contains(_torch_version(target), prereleases=True)
    except InvalidSpecifier:
        return True
