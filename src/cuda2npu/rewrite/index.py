"""Facts about the whole project that one file can't show."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import libcst as cst

from cuda2npu.rewrite.held import read_in_python
from cuda2npu.rewrite.members import Member, class_members
from cuda2npu.rewrite.names import Names
from cuda2npu.rewrite.shared_names import SharedNames
from cuda2npu.rewrite.source import SourceError, decode

_DEFINES = re.compile(rb"\bdef\s+(?:is_)?cuda\b|(?:^|[;:])[ \t]*(?:\w+\.)?(?:is_)?cuda\s*(?::|=[^=])", re.M)
# A definition with its parameter list; brackets in the list may be nested twice.
_DEF = re.compile(
    rb"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)[ \t]*"
    rb"(?:\(((?:[^()]|\((?:[^()]|\([^()]*\))*\)){0,4000})\))?",
    re.M,
)
_ASIDE = re.compile(rb"#[^\n]*|\[[^\[\]]*\]|\{[^{}]*\}|\([^()]*\)")  # in it: comments, and brackets
_TAKES_DEVICE = re.compile(rb"\bdef\s+\w+\s*\([^)]*(?:device|backend|location|gpu)")
_STAR = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*\*", re.M)
_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n(]*)", re.M)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([\w., \t]+)", re.M)
_TORCH = re.compile(rb"^[ \t]*(?:from[ \t]+torch\b|import[ \t][\w., \t]*(?<![\w.])torch\b)", re.M)
# The same in a notebook, whose lines are strings of JSON.
_IN_NOTEBOOK = re.compile(rb'(?:"|\\n)[ \t]*(?:import|from)[ \t]+(\w+)')
_CUDA_BY_DEFAULT = re.compile(rb"^[^#\n]*\bset_default_tensor_type\s*\([^)#]*cuda", re.I | re.M)
_CHOOSES_BACKEND = re.compile(
    rb"""\binit_process_group\([^)"']*\bbackend\b(?!=["'])|[=!]=[ \t]*["']nccl["']|["']nccl["'][ \t]*[=!]="""
)
_HCCL = re.compile(rb"""["']hccl["']""")
_CUDA_NAME = re.compile(rb"\w*(?:cuda|nvtx)\w*", re.I)


@dataclass(frozen=True)
class ProjectIndex:
    """What the files of a project say about each other.

    :param files: paths of the project's Python files, relative, with forward slashes.
    :param members: members called ``cuda`` or ``is_cuda`` of the project's classes.
    :param exports: file -> (name -> dotted target), for files that others import with a star.
    :param borrowed: names with a CUDA word that some file imports from another one of the project.
    :param signatures: file -> (function or class -> names of its parameters), for functions that take a
        device or a backend.
    :param shared: names that are given a device in one file and used as one in another.
    :param chooses_backend: whether some file that is converted compares a backend of torch.distributed that
        it is given, or starts torch.distributed with it, and none knows that of the NPU.
    :param cuda_by_default: whether some file makes a CUDA type the default type of tensors.
    :param torch_files: files that work with torch: they import it, directly or through other files of
        the project, or they are imported by a file that does.
    :param held: names of keys, options and variables whose values stay in some file: what is compared with
        them must not move as safe.
    :param uses_torch: whether any file imports torch or a package that is built on it.
    """

    files: frozenset[str] = frozenset()
    members: tuple[Member, ...] = ()
    exports: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    borrowed: frozenset[str] = frozenset()
    signatures: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    cuda_by_default: bool = False
    torch_files: frozenset[str] = frozenset()
    uses_torch: bool = False
    chooses_backend: bool = False
    held: frozenset[str] = frozenset()

    def is_own(self, importer: str, module: str) -> bool:
        """Whether ``module``, as named in the file ``importer``, belongs to the project."""
        return find_module(self.files, importer, module) is not None or module.startswith(".")

    def parameters(self, importer: str, function: str) -> tuple[str, ...]:
        """Return the parameters of the imported ``function`` (dotted), if it is the project's own."""
        module, _, name = function.rpartition(".")
        path = find_module(self.files, importer, module) if module else None
        return self.signatures.get(path, {}).get(name, ()) if path is not None else ()

    def star_exports(self, importer: str, module: str) -> Mapping[str, str]:
        """Return what ``from module import *`` brings into the file ``importer``."""
        path = find_module(self.files, importer, module)
        return self.exports.get(path, {}) if path is not None else {}


def find_module(files: frozenset[str], importer: str, module: str) -> str | None:
    """Return the file of the project that ``module`` names in ``importer``, if there is one.

    A relative name counts its dots. An absolute one is looked for beside the importing file, then in
    the folders above it, for the root of an import path may be any of them, and in ``src``.
    """
    folder = posixpath.dirname(importer)
    if module.startswith("."):
        up = len(module) - len(module.lstrip("."))
        for _ in range(up - 1):
            folder = posixpath.dirname(folder)
        return _file_at(files, posixpath.join(folder, *filter(None, module.lstrip(".").split("."))))
    tail = module.replace(".", "/")
    folders = [folder]
    while folder and posixpath.dirname(folder) != folder:
        folder = posixpath.dirname(folder)
        folders.append(folder)
    places = [posixpath.join(folder, tail) for folder in (*folders, "src")]
    return next((found for place in places if (found := _file_at(files, place))), None)


def _file_at(files: frozenset[str], stem: str) -> str | None:
    return next(
        (path for path in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi") if path in files), None
    )


def build_index(
    sources: Iterable[tuple[str, Callable[[], bytes]]],
    fixed: frozenset[str] = frozenset(),
    family: frozenset[str] = frozenset(),
) -> ProjectIndex:
    """Read the files of a project, given as (relative path, reader), and collect the facts.

    :param fixed: files that aren't converted: what they define stays, and with it all its uses.
    :param family: packages that are built on torch.

    A file that can't be read contributes nothing here; converting it will say why.
    """
    readers = dict(sources)
    files = frozenset(readers)
    stems = {part for path in files for part in posixpath.splitext(path)[0].split("/")}
    members: list[Member] = []
    borrowed: set[str] = set()
    torch_users: set[str] = set()
    imports: dict[str, set[str]] = {}
    shared = SharedNames()
    by_default = uses_torch = chooses_backend = knows_hccl = False
    signatures: dict[str, dict[str, tuple[str, ...]]] = {}
    taken: dict[str, frozenset[str]] = {}  # options and variables for a device, in files with CUDA words
    staying = set(fixed)
    starred: set[str] = set()
    for path, read in readers.items():
        try:
            data = read()
        except OSError:
            continue
        if b"cuda" in data and _DEFINES.search(data):
            stays = path in fixed or b"cuda2npu: skip-file" in data
            members += (replace(member, fixed=stays) for member in _members(data))
        if b"cuda" in data:
            taken[path] = frozenset(read_in_python(data))
            staying.update([path] if b"cuda2npu: skip-file" in data else ())
        if _TAKES_DEVICE.search(data):
            signatures[path] = _signatures(data)
        for match in _STAR.finditer(data):
            starred.update(filter(None, [find_module(files, path, match[1].decode())]))
        borrowed.update(_borrowed(data))
        by_default = by_default or _CUDA_BY_DEFAULT.search(data) is not None
        if _TORCH.search(data):
            torch_users.add(path)
            uses_torch = True
        uses_torch = uses_torch or not family.isdisjoint(name.partition(".")[0] for name in _imported(data))
        if path not in fixed:
            shared.look_at(data, _borrowed_from(files, path, data))
            chooses_backend = chooses_backend or _CHOOSES_BACKEND.search(data) is not None
            knows_hccl = knows_hccl or _HCCL.search(data) is not None
        own = (
            name
            for name in set(_imported(data))
            if name.lstrip(".").partition(".")[0] in stems or name[0] == "."
        )
        imports[path] = {found for name in own if (found := find_module(files, path, name))}
    exports: dict[str, dict[str, str]] = {}
    for path in starred:
        _collect_exports(path, readers, files, exports)
    torch_files = _torch_files(torch_users, imports)
    others = (names for path, names in taken.items() if path in staying or path not in torch_files)
    return ProjectIndex(
        files,
        tuple(members),
        exports,
        frozenset(borrowed),
        signatures,
        shared.names,
        by_default,
        torch_files,
        uses_torch,
        chooses_backend and not knows_hccl,
        frozenset().union(*others),
    )


def notebook_uses(data: bytes, packages: frozenset[str]) -> bool:
    """Whether the bytes of a notebook hold a line that imports one of the packages."""
    return any(match[1].decode() in packages for match in _IN_NOTEBOOK.finditer(data))


def _torch_files(users: set[str], imports: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the files that import torch, those that import one of them, and all that these import."""
    importers: dict[str, set[str]] = {}
    for path, imported in imports.items():
        for other in imported:
            importers.setdefault(other, set()).add(path)
    waiting, found = list(users), set(users)
    while waiting:
        new = importers.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    waiting = list(found)
    while waiting:
        new = imports.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(found)


def _signatures(data: bytes) -> dict[str, tuple[str, ...]]:
    """Return the parameters of the functions at the top of a file, and of the classes' ``__init__``."""
    found: dict[str, tuple[str, ...]] = {}
    owner = ""
    for match in _DEF.finditer(data):
        indent, what, name = match[1], match[2], match[3].decode()
        if what == b"class":
            owner = name if not indent else owner
        elif name == "__init__" and owner and indent:
            found[owner] = _parameter_names(match[4])[1:]
        elif not indent:
            found[name] = _parameter_names(match[4])
    return found


def _parameter_names(text: bytes | None) -> tuple[str, ...]:
    """Return the names in a parameter list; brackets in defaults and annotations are skipped."""
    flat = _ASIDE.sub(b"", _ASIDE.sub(b"", text or b""))
    names = [re.match(rb"\s*(\w+)", part) for part in flat.split(b",")]
    return tuple(match[1].decode() for match in names if match)


def _members(data: bytes) -> list[Member]:
    try:
        return class_members(Names(cst.parse_module(decode(data).text)))
    except (SourceError, cst.ParserSyntaxError, RecursionError):
        return []


def _borrowed(data: bytes) -> Iterable[str]:
    for match in _FROM.finditer(data):
        if not match[1].startswith(b"torch"):
            for name in _CUDA_NAME.finditer(match[2]):
                yield name[0].decode()


def _borrowed_from(files: frozenset[str], path: str, data: bytes) -> Iterable[str]:
    """The names that a file imports from others of the project."""
    for match in _FROM.finditer(data):
        if find_module(files, path, match[1].decode()) is not None:
            for name in re.finditer(rb"\w+", match[2]):
                yield name[0].decode()


def _imported(data: bytes) -> Iterable[str]:
    for match in _FROM.finditer(data):
        module = match[1].decode()
        yield module
        for name in re.finditer(rb"\w+", match[2]):  # from package import module
            yield f"{module}{'' if module.endswith('.') else '.'}{name[0].decode()}"
    for match in _IMPORT.finditer(data):
        for part in match[1].decode().split(","):
            if part.strip():
                yield part.split()[0]


def _collect_exports(
    path: str,
    readers: Mapping[str, Callable[[], bytes]],
    files: frozenset[str],
    exports: dict[str, dict[str, str]],
) -> Mapping[str, str]:
    """Note which imported names the module at ``path`` hands on, star imports of its own included."""
    if path in exports:
        return exports[path]
    names: dict[str, str] = {}
    exports[path] = names
    try:
        tree = ast.parse(readers[path]())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return names
    for node in _top_level(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                target = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or target] = target
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            module = "." * node.level + (node.module or "")
            found = find_module(files, path, module)
            if found is not None:
                names.update(_collect_exports(found, readers, files, exports))
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return names


def _top_level(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Yield the statements that run when a module is imported, those in try and if included."""
    for node in body:
        yield node
        if isinstance(node, (ast.Try, ast.If)):
            yield from _top_level(node.body)
            yield from _top_level(node.orelse)
