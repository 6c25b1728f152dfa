#!/usr/bin/env python3
"""Rebuild ``torch_npu_api.json``, the table of names that each torch_npu release has.

    python tools/build_api_tables.py [--wheels FOLDER] [--output FILE]

Downloads the public wheels with pip, reads their Python sources with :mod:`ast` and looks for
strings in their libraries; nothing of them is imported or run. The same wheels give the same file.
To follow a new release, add it to ``RELEASES`` in tools/wheels.py and run the script.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from wheels import RELEASES, fetch, rebuild

OUTPUT = Path(__file__).parents[1] / "src/cuda2npu/catalog/torch_npu_api.json"

# torch_npu.npu is what torch_npu registers as torch.npu, so its names are listed under that.
NPU = "torch_npu.npu"
OTHERS = tuple(f"torch_npu.{name}" for name in ("profiler", "optim", "contrib", "utils", "distributed"))
WITH_PARAMETERS = ("torch.npu.", "torch_npu.profiler.")


# --- what the sources of a wheel say ------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """A statement or expression in the text of ``module`` that a name is bound to."""

    module: str
    node: ast.AST
    method: bool = False  # stands in the body of a class


@dataclass(frozen=True)
class Alias:
    """A name that stands for ``name`` of ``module``."""

    module: str
    name: str


@dataclass(frozen=True)
class Module:
    """A module of the wheel."""

    name: str


# None: the name exists, but the sources don't show what it is.
Binding = Union[Definition, Alias, Module, None]


class Wheel:
    """The Python modules of one torch_npu wheel, and which names they offer."""

    def __init__(self, path: Path) -> None:
        self.sources: dict[str, bytes] = {}
        self.packages: set[str] = set()
        self.schemas: list[str] = []
        self.libraries: list[bytes] = []
        self._trees: dict[str, ast.Module] = {}
        self._bindings: dict[str, dict[str, Binding]] = {}
        self._attributes_set: dict[tuple[str, str], dict[str, Binding]] = {}
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                self._take(name, archive)

    def _take(self, file: str, archive: zipfile.ZipFile) -> None:
        if file.startswith("torch_npu/") and file.endswith(".py"):
            module = file[: -len(".py")].replace("/", ".")
            if module.endswith(".__init__"):
                module = module[: -len(".__init__")]
                self.packages.add(module)
            self.sources[module] = archive.read(file)
        elif re.fullmatch(r"torch_npu/csrc/aten/\w+\.yaml", file):
            self.schemas.append(archive.read(file).decode())
        elif re.fullmatch(r"torch_npu/(_C\.[^/]*|lib/libtorch_npu)\.so", file):
            self.libraries.append(archive.read(file))

    def tree(self, module: str) -> ast.Module:
        """Return the syntax tree of ``module``."""
        if module not in self._trees:
            self._trees[module] = ast.parse(self.sources[module])
        return self._trees[module]

    def bindings(self, module: str) -> dict[str, Binding]:
        """Return what the names in the namespace of ``module`` are bound to after its import."""
        if module not in self._bindings:
            names: dict[str, Binding] = {}
            self._bindings[module] = names  # before it is filled: modules import each other
            for other in self.sources:
                package, _, name = other.rpartition(".")
                if package == module:
                    names[name] = Module(other)
            for statement in statements(self.tree(module).body):
                self._bind(module, statement, names)
        return self._bindings[module]

    def _bind(self, module: str, statement: ast.stmt, names: dict[str, Binding]) -> None:
        if isinstance(statement, ast.Import):
            for item in statement.names:
                top = item.name.partition(".")[0]
                target = item.name if item.asname else top
                names[item.asname or top] = Module(target) if target in self.sources else None
        elif isinstance(statement, ast.ImportFrom):
            origin = self._origin(module, statement)
            for item in statement.names:
                if item.name == "*":
                    names.update((name, Alias(origin, name)) for name in self.exported(origin))
                elif origin == module:  # a package imports its own submodule
                    names[item.asname or item.name] = Module(f"{origin}.{item.name}")
                else:
                    names[item.asname or item.name] = Alias(origin, item.name)
        elif isinstance(statement, ast.Delete):
            for deleted in statement.targets:
                names.pop(dotted(deleted), None)
        for place, node in assigned(statement):
            owner, _, name = place.rpartition(".")
            binding = Definition(module, node) if node else None
            if not owner:
                names[name] = binding
            elif isinstance(names.get(owner), Definition):  # Class.name = value, below the class
                self._attributes_set.setdefault((module, owner), {})[name] = binding
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "sys.modules[__name__]":
            for name in self.attributes(Definition(module, statement.value)):
                names.setdefault(name, None)

    def _origin(self, module: str, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = module.split(".")
        drop = statement.level - (module in self.packages)
        base = ".".join(parts[: len(parts) - drop])
        return f"{base}.{statement.module}" if statement.module else base

    def exported(self, module: str) -> list[str]:
        """Return what ``from module import *`` brings."""
        if module not in self.sources:
            return []
        declared = self.declared(module)
        if declared is not None:
            return declared
        return [name for name in self.bindings(module) if not name.startswith("_")]

    def declared(self, module: str) -> list[str] | None:
        """Return the literal ``__all__`` of ``module``."""
        for statement in self.tree(module).body:
            if isinstance(statement, ast.Assign) and dotted(statement.targets[0]) == "__all__":
                return strings(statement.value)
        return None

    def resolve(self, binding: Binding, depth: int = 20) -> Binding:
        """Follow imports and plain assignments as far as the sources go.

        The result is an :class:`Alias` only where the name comes from outside them.
        """
        if depth == 0 or binding is None or isinstance(binding, Module):
            return binding
        if isinstance(binding, Alias):
            if binding.module not in self.sources:
                return binding
            return self.resolve(self.bindings(binding.module).get(binding.name), depth - 1)
        if isinstance(binding.node, ast.Name):
            return self.resolve(self.bindings(binding.module).get(binding.node.id), depth - 1) or binding
        if isinstance(binding.node, ast.Attribute):
            owner = self.resolve(Definition(binding.module, binding.node.value), depth - 1)
            inner: Binding = None
            if isinstance(owner, Module):
                inner = Alias(owner.name, binding.node.attr)
            elif isinstance(owner, Definition):
                inner = self.attributes(owner).get(binding.node.attr)
            return self.resolve(inner, depth - 1) or binding
        return binding

    def attributes(self, value: Definition) -> dict[str, Binding]:
        """Return the attributes of a class, or of an instance that a module holds."""
        if isinstance(value.node, ast.Call):
            of_class = self.resolve(Definition(value.module, value.node.func))
            if not isinstance(of_class, Definition) or not isinstance(of_class.node, ast.ClassDef):
                return {}
            return {**self.attributes(of_class), **dict.fromkeys(names_answered(of_class.node))}
        if not isinstance(value.node, ast.ClassDef):
            return {}
        found: dict[str, Binding] = {}
        for base in reversed(self._bases(value)):
            found.update(self.attributes(base))
        for statement in statements(value.node.body):
            for name, node in assigned(statement):
                found[name] = Definition(value.module, node, method=True) if node else None
        found.update(self._attributes_set.get((value.module, value.node.name), {}))
        return found

    def _bases(self, value: Definition) -> list[Definition]:
        assert isinstance(value.node, ast.ClassDef)
        bases = (self.resolve(Definition(value.module, base)) for base in value.node.bases)
        return [base for base in bases if isinstance(base, Definition) and base.node is not value.node]

    def parameters(self, value: Definition) -> list[str] | None:
        """Return the parameters of a call, or None where the sources don't show them."""
        if isinstance(value.node, ast.FunctionDef):
            decorators = {dotted(item) for item in value.node.decorator_list}
            if any(name.endswith("property") for name in decorators):
                return None
            return parameter_list(value.node, bound=value.method and "staticmethod" not in decorators)
        if not isinstance(value.node, ast.ClassDef):
            return None
        own = {name: node for item in statements(value.node.body) for name, node in assigned(item)}
        constructor = own.get("__init__") or own.get("__new__")
        if constructor:
            function = self.resolve(Definition(value.module, constructor))
            node = function.node if isinstance(function, Definition) else None
            return parameter_list(node, bound=True) if isinstance(node, ast.FunctionDef) else None
        # With a base that isn't in the wheel, which of them is called can't be told.
        bases = self._bases(value)
        return self.parameters(bases[0]) if len(bases) == len(value.node.bases) == 1 else None

    # --- the result -----------------------------------------------------------------------------

    def names(self) -> dict[str, Binding]:
        """Return every dotted name that the wheel offers, with what it is bound to."""
        found: dict[str, Binding] = {"torch_npu.__version__": None}
        for name, binding in self.bindings("torch_npu").items():
            if not name.startswith("_") and not self._is_foreign(binding):
                found[f"torch_npu.{name}"] = binding
        for module in (NPU, *OTHERS):
            self._list(module, found)
        # The C++ library puts the tensor types (torch.npu.FloatTensor) into torch_npu.npu, and
        # torch_npu makes some of its functions on demand; both are in __all__ all the same.
        for module in ("torch_npu", NPU):
            for name in self.declared(module) or ():
                found.setdefault(f"{prefixed(module)}.{name}", None)
        for name in (*self._patched(), *self._operators(), *self._private()):
            found.setdefault(name, None)
        return found

    def _list(self, module: str, found: dict[str, Binding]) -> None:
        """Add all names of ``module`` if it is in torch.npu or in OTHERS; of one below OTHERS its own."""
        prefix = prefixed(module)
        found[prefix] = Module(module)
        in_npu = prefix.startswith("torch.npu")
        for name, binding in self.bindings(module).items():
            value = self.resolve(binding)
            own = module in self.packages or isinstance(binding, Definition)
            hidden = name.startswith("_") or self._is_foreign(value)
            if name.startswith("__") or ((hidden or not own) and not in_npu and module not in OTHERS):
                continue
            found[f"{prefix}.{name}"] = binding
            if value == Module(f"{module}.{name}"):
                if in_npu or (module in OTHERS and not hidden):
                    self._list(value.name, found)
            elif own and is_public(f"{prefix}.{name}"):
                for attribute, inner in self._members(name, value).items():
                    found[f"{prefix}.{name}.{attribute}"] = inner

    def _members(self, name: str, value: Binding) -> dict[str, Binding]:
        """Return the public attributes; of a class in torch_npu._C those that the sources use."""
        if isinstance(value, Definition):
            return {item: inner for item, inner in self.attributes(value).items() if not item.startswith("_")}
        if not isinstance(value, Alias) or not value.module.startswith("torch_npu._C"):
            return {}
        use = re.compile(rf"\b{name}\.([A-Za-z]\w*)".encode())
        return {
            attribute.decode(): None
            for module, source in self.sources.items()
            for attribute in use.findall(source)
            if self.resolve(self.bindings(module).get(name)) == value
        }

    def _is_foreign(self, value: Binding) -> bool:
        return value is None or (isinstance(value, Alias) and not value.module.startswith("torch_npu"))

    def _patched(self) -> Iterator[str]:
        """Names that some module of the wheel assigns: ``torch.npu.name = ...``."""
        owners = {"torch_npu", "torch.npu", NPU, *OTHERS}
        for module, source in self.sources.items():
            if not re.search(rb"^\s*torch(_npu|\.npu)[.\w]* *= ", source, re.MULTILINE):
                continue
            for node in ast.walk(self.tree(module)):
                for target in node.targets if isinstance(node, ast.Assign) else ():
                    owner, _, name = dotted(target).rpartition(".")
                    if owner in owners:
                        yield f"{prefixed(owner)}.{name}"

    def _operators(self) -> Iterator[str]:
        """Custom operators and their overloads: ``npu_max``, ``npu_max.dim``."""
        for schema in self.schemas:
            section = ""
            for line in schema.splitlines():
                section = line.partition(":")[0] if re.match(r"\w+:", line) else section
                match = re.match(r"[- ]+(?:func: )?((\w+)(?:\.\w+)?)\(", line)
                if match and section == "custom":
                    yield from (f"torch_npu.{match[1]}", f"torch_npu.{match[2]}")

    def _private(self) -> Iterator[str]:
        """Names in torch_npu._C: those that the sources use, and ``_npu_*`` and ``_NPU*``.

        The latter are strings of the libraries, less the names of operators. A use counts only if the
        libraries have its name, for there is code that no one ever ran (``_C._aclop_start_dmp``).
        """
        operators = {name for schema in self.schemas for name in re.findall(r"(\w+)(?:\.\w+)?\(", schema)}
        for data in self.libraries:
            for name in re.findall(rb"(?<=\0)_(?:npu_|NPU)\w+(?=\0)", data):
                plain = re.sub(r"(_out)?(_symint)?$", "", name.decode())
                if not operators & {plain, name.decode()}:
                    yield f"torch_npu._C.{name.decode()}"
        used: set[str] = set()
        for module, source in self.sources.items():
            for node in ast.walk(self.tree(module)) if b"torch_npu._C" in source else ():
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch_npu._C"):
                    used.update(f"{node.module}.{item.name}" for item in node.names)
                elif isinstance(node, ast.Attribute) and dotted(node).startswith("torch_npu._C."):
                    used.add(dotted(node))
        for use in used:
            last = use.rpartition(".")[2]
            # Without a NUL before it: the linker stores a string that ends another one only once.
            if not last.startswith("__") and any(f"{last}\0".encode() in data for data in self.libraries):
                yield use


def prefixed(module: str) -> str:
    """Return the name under which ``module`` is listed."""
    return re.sub(rf"^{NPU}\b", "torch.npu", module)


def is_public(dotted_name: str) -> bool:
    """Whether no part of the name is private."""
    return not any(part.startswith("_") for part in dotted_name.split("."))


# --- reading syntax trees -----------------------------------------------------------------------


def dotted(node: ast.AST) -> str:
    """Return ``a.b.c`` for names and attributes, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that an import runs: both branches of an if, bodies of try, with and for."""
    for statement in body:
        if isinstance(statement, ast.If) and re.search("TYPE_CHECKING|__main__", ast.unparse(statement.test)):
            yield from statements(statement.orelse)
            continue
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, field, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)


def assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield the (dotted) names that a statement binds, with what they are bound to where that's plain."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name, statement
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if dotted(target):
                yield dotted(target), statement.value
            elif isinstance(target, (ast.Tuple, ast.List)):
                yield from ((dotted(item), None) for item in target.elts if dotted(item))
    elif isinstance(statement, ast.AnnAssign) and statement.value:
        yield dotted(statement.target), statement.value
    elif isinstance(statement, ast.For) and dotted(statement.target):
        yield dotted(statement.target), None


def names_answered(node: ast.ClassDef) -> set[str]:
    """Return the names with which ``__getattr__`` and ``__setattr__`` compare theirs."""
    found: set[str] = set()
    for function in node.body:
        if not isinstance(function, ast.FunctionDef) or function.name not in ("__getattr__", "__setattr__"):
            continue
        asked = function.args.args[1].arg
        for comparison in ast.walk(function):
            if isinstance(comparison, ast.Compare) and dotted(comparison.left) == asked:
                found.update(strings(comparison))
    return found


def strings(node: ast.AST) -> list[str]:
    """Return the string constants in ``node``."""
    constants = (item.value for item in ast.walk(node) if isinstance(item, ast.Constant))
    return [value for value in constants if isinstance(value, str)]


def parameter_list(function: ast.FunctionDef, bound: bool) -> list[str]:
    """Return the parameters as they are written, ``name=`` for one with a default.

    ``/`` and ``*`` stand as in the definition; ``bound`` leaves out self or cls.
    """
    given = function.args
    positional = [item.arg for item in given.posonlyargs + given.args]
    with_default = len(positional) - len(given.defaults)
    written = [name + "=" * (index >= with_default) for index, name in enumerate(positional)]
    if given.posonlyargs:
        written.insert(len(given.posonlyargs), "/")
    if given.vararg:
        written.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        written.append("*")
    for item, default in zip(given.kwonlyargs, given.kw_defaults):
        written.append(item.arg + "=" * (default is not None))
    if given.kwarg:
        written.append(f"**{given.kwarg.arg}")
    return written[1:] if bound and positional else written


# --- the table ----------------------------------------------------------------------------------


def signatures(wheel: Wheel, names: dict[str, Binding]) -> dict[str, list[str]]:
    """Return the parameters of the functions and classes in public modules."""
    found = {}
    for name, binding in names.items():
        if not name.startswith(WITH_PARAMETERS) or not is_public(name.rpartition(".")[0]):
            continue
        value = wheel.resolve(binding)
        parameters = wheel.parameters(value) if isinstance(value, Definition) else None
        if parameters is not None:
            found[name] = parameters
    return found


def build(folder: Path) -> dict[str, object]:
    """Return the table of all RELEASES; see the documentation of ``cuda2npu.catalog.api``."""
    wheels = []
    present: dict[str, list[str]] = {}
    history: dict[str, dict[str, list[str] | None]] = {}
    for index, (path, entry) in enumerate(fetch(folder)):
        version = entry["torch"]
        wheels.append(entry)
        wheel = Wheel(path)
        names = wheel.names()
        for name in names:
            present.setdefault(name, ["0"] * len(RELEASES))[index] = "1"
        given = signatures(wheel, names)
        for name in names.keys() & (history.keys() | given.keys()):
            changes = history.setdefault(name, {})
            last = list(changes.values())[-1] if changes else None
            if given.get(name) != last:
                changes[version] = given.get(name)
        print(f"{path.name}: {len(names)} names", file=sys.stderr)
    return {
        "schema": 1,
        "source": "torch_npu wheels on PyPI (cp311, x86_64), read by tools/build_api_tables.py",
        "wheels": wheels,
        "names": {name: "".join(bits) for name, bits in sorted(present.items())},
        "parameters": dict(sorted(history.items())),
    }


def one_name_per_line(table: dict[str, object]) -> str:
    """Return ``table`` as JSON that is small and still shows each name on a line of its own in a diff."""
    parts = []
    for key, value in table.items():
        opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
        if isinstance(value, dict):
            lines = [f"{json.dumps(name)}:{compact(item)}" for name, item in value.items()]
        elif isinstance(value, list):
            lines = [compact(item) for item in value]
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
            continue
        parts.append(f"{json.dumps(key)}: {opening}\n" + ",\n".join(lines) + f"\n{closing}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def compact(value: object) -> str:
    """Return ``value`` as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    rebuild(__doc__, OUTPUT, lambda folder: one_name_per_line(build(folder)))
