"""What a repository consists of, beside what the rules say: its size, its CUDA sources, what it imports."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
import sys
import sysconfig
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cuda2npu.catalog.rules import Catalog, Row
from cuda2npu.discover import Entry, Kind, is_excluded
from cuda2npu.rewrite.formats.notebook import is_notebook
from cuda2npu.rewrite.index import find_module

NATIVE_SUFFIXES = (".cu", ".cuh")
# What is known of a package that no row of the catalogue is about.
TORCH_FAMILY, UNKNOWN = "torch", "unknown"

_TORCH = frozenset({"torch", "torch_npu"})
# Modules that some Python of the last fifteen years had in its standard library, and ours may not have.
_ONCE_STANDARD = frozenset(
    (
        *("ConfigParser", "HTMLParser", "Queue", "StringIO", "Tkinter", "__builtin__", "aifc"),
        *("asynchat", "asyncore", "audioop", "cPickle", "cStringIO", "cgi", "cgitb", "chunk"),
        *("commands", "cookielib", "copy_reg", "crypt", "distutils", "exceptions", "formatter"),
        *("graphlib", "httplib", "imghdr", "imp", "lib2to3", "mailcap", "nntplib", "pipes", "smtpd"),
        *("sndhdr", "sre_compile", "sre_constants", "sre_parse", "sunau", "symbol", "telnetlib"),
        *("tomllib", "urllib2", "urlparse", "uu", "xdrlib", "zoneinfo"),
    )
)
# For files that can't be parsed, and cells with magics.
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w.]*)", re.M)
_USES_NPU = re.compile(r"\btorch_npu\b|\btorch\.npu\b|\bis_\w*npu_available\b", re.I)
_MAGIC = re.compile(r"^[ \t]*[%!?].*", re.M)
# What statements stand in.
_BLOCKS: tuple[type[ast.AST], ...] = (ast.stmt, ast.ExceptHandler)
if sys.version_info >= (3, 10):
    _BLOCKS += (ast.match_case,)


class Use(NamedTuple):
    """A place where something is imported.

    :param optional: the import stands in a ``try``, so that the program may go on without it.
    """

    path: str
    line: int
    module: str
    optional: bool


@dataclass(frozen=True)
class Package:
    """A third-party package that the code imports.

    :param state: one of the catalogue's states, :data:`TORCH_FAMILY`, :data:`UNKNOWN`, or empty for a
        package that a row is about without naming a state.
    """

    name: str
    state: str
    advice: str
    uses: Sequence[Use]


@dataclass(frozen=True)
class Inventory:
    """The facts about a repository.

    :param python: Python files and notebooks -> lines of code: those that are neither blank nor a comment.
    :param native: CUDA sources -> lines.
    :param npu: how many of the Python files use an NPU already.
    """

    python: Mapping[str, int]
    native: Mapping[str, int]
    packages: Sequence[Package]
    npu: int = 0


def take(entries: Iterable[Entry], catalog: Catalog, lang: str = "en") -> Inventory:
    """Read the files of a job; one that can't be read counts with no line."""
    entries = list(entries)
    own = _Own(entry.relative_path for entry in entries if entry.kind is Kind.PYTHON or is_excluded(entry))
    python: dict[str, int] = {}
    native: dict[str, int] = {}
    npu = 0
    uses: dict[str, list[Use]] = defaultdict(list)
    for entry in entries:
        if entry.kind is Kind.PYTHON:
            text = _code(entry)
            python[entry.path] = sum(_is_code(line) for line in text.splitlines())
            npu += _USES_NPU.search(text) is not None
            for use in sorted(_imports(text, entry.path)):
                row = _row_name(use.module, catalog)
                if not _is_standard(use.module, row) and not own.has(entry.relative_path, use.module, row):
                    _note(uses[row or _top(use.module)], use)
        elif entry.kind is Kind.DATA and entry.status is None and entry.path.endswith(NATIVE_SUFFIXES):
            native[entry.path] = len(_read(entry).splitlines())
    packages = [_package(name, found, catalog, lang) for name, found in sorted(uses.items())]
    return Inventory(python, native, packages, npu)


class _Own:
    """The modules of the repository itself."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = frozenset(files)
        # A folder may be put on the import path, or be a package without an __init__.py.
        self._folders = {part for path in self._files for part in PurePosixPath(path).parts[:-1]}

    def has(self, importer: str, module: str, row: str | None) -> bool:
        """Whether ``module`` is one of them; a like-named folder isn't enough where a row is about it."""
        top = _top(module)
        return find_module(self._files, importer, top) is not None or (row is None and top in self._folders)


def _note(uses: list[Use], use: Use) -> None:
    """Add a use, unless the same statement has one already: it may import several names."""
    if not uses or uses[-1][:2] != use[:2]:
        uses.append(use)


def _package(name: str, uses: Sequence[Use], catalog: Catalog, lang: str) -> Package:
    if name in catalog.rows:
        rule, row = catalog.rows[name]
        return Package(name, row.state, (row.note.in_language(lang) or rule.advice.in_language(lang)), uses)
    known = "works" if name in catalog.plain else TORCH_FAMILY if name in catalog.torch_family else UNKNOWN
    return Package(name, known, "", uses)


def _is_standard(module: str, row: str | None) -> bool:
    """Whether ``module`` is torch's or Python's, and no row is about it."""
    return row is None and (_top(module) in _TORCH or _top(module) in _standard())


def _row_name(module: str, catalog: Catalog) -> str | None:
    """Return the name of the row about a package that ``module`` is, or is part of."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in catalog.rows and _is_package(*catalog.rows[name])), None)


def _is_package(rule: object, row: Row) -> bool:
    return bool(row.state) or getattr(rule, "codemod", "") == "package_import"


@cache
def _standard() -> frozenset[str]:
    """The modules of the standard library; Python 3.9 has no list of them."""
    names = getattr(sys, "stdlib_module_names", None)
    if names is None:
        folders = [sysconfig.get_path(key) for key in ("stdlib", "platstdlib")]
        folders += [f"{folder}/lib-dynload" for folder in folders]
        names = {*sys.builtin_module_names, *(module.name for module in pkgutil.iter_modules(folders))}
    return frozenset(names) | _ONCE_STANDARD


def _top(module: str) -> str:
    return module.partition(".")[0]


def _read(entry: Entry) -> bytes:
    try:
        return Path(entry.source).read_bytes()
    except OSError:
        return b""  # that it can't be read is said when it is converted


def _code(entry: Entry) -> str:
    """Return the code in a Python file, or in the cells of a notebook."""
    data = _read(entry)
    if not is_notebook(entry.path):
        return data.decode("utf-8", "replace").lstrip("\ufeff")
    try:
        cells = json.loads(data)["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        return _MAGIC.sub("", "\n".join("".join(source) for source in sources))
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _imports(text: str, path: str) -> Iterator[Use]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        for match in _IMPORT.finditer(text):
            yield Use(path, text.count("\n", 0, match.start()) + 1, match[1], False)
        return
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, optional = pending.pop()
        if isinstance(node, ast.Import):
            yield from (Use(path, node.lineno, alias.name, optional) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names)
            yield from (Use(path, node.lineno, module, optional) for module in modules)
        for field, value in ast.iter_fields(node):
            guarded = optional or (isinstance(node, ast.Try) and field == "body" and bool(node.handlers))
            children = value if isinstance(value, list) else [value]
            pending += [(child, guarded) for child in children if isinstance(child, _BLOCKS)]
