#!/usr/bin/env python3
"""Rebuild ``torch_cuda_names.txt``, the public names of torch.cuda that the rules must cover.

    python tools/build_torch_cuda_names.py [TORCH] [--output FILE]

TORCH is a wheel of PyTorch or the folder of an installed one; without it, the installed torch is
read. The sources are read with :mod:`ast`; nothing of them is imported or run.
"""

from __future__ import annotations

import argparse
import ast
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Union

OUTPUT = Path(__file__).parents[1] / "tests/data/torch_cuda_names.txt"
HEADER = """\
# Public names of torch.cuda and its public submodules in PyTorch {version}.
# Made by tools/build_torch_cuda_names.py: per module its __all__, and what it defines at the top
# level under a name without an underscore. Names that it only imports are left out.
"""

Folder = Union[Path, zipfile.Path]


def package(torch: str | None) -> Folder:
    """Return the folder ``torch`` of a wheel, of a folder, or of the installed PyTorch.

    :raises SystemExit: if there is no torch.cuda in it.
    """
    if torch is None:
        spec = find_spec("torch")
        if spec is None or spec.origin is None:
            sys.exit("no torch is installed; name a wheel or a folder")
        found: Folder = Path(spec.origin).parent
    elif torch.endswith(".whl"):
        found = zipfile.Path(torch) / "torch"
    else:
        found = Path(torch)
    if not (found / "cuda" / "__init__.py").is_file():
        sys.exit(f"{torch or found}: there is no torch.cuda in it")
    return found


def version(torch: Folder) -> str:
    """Return the version that torch/version.py states."""
    for name, value in defined(ast.parse((torch / "version.py").read_text(encoding="utf-8")).body):
        if name == "__version__" and isinstance(value, ast.Constant):
            return str(value.value)
    sys.exit("torch/version.py states no version")


def modules(folder: Folder, name: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the public modules of a package, with their syntax trees."""
    for entry in folder.iterdir():
        if entry.is_dir() and (entry / "__init__.py").is_file() and not entry.name.startswith("_"):
            yield from modules(entry, f"{name}.{entry.name}")
        elif entry.name.endswith(".py") and (entry.name == "__init__.py" or not entry.name.startswith("_")):
            module = name if entry.name == "__init__.py" else f"{name}.{entry.name[: -len('.py')]}"
            yield module, ast.parse(entry.read_text(encoding="utf-8"))


def defined(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that statements define, with the value of an assigned one."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name, None
        elif isinstance(statement, ast.Assign):
            yield from ((t.id, statement.value) for t in statement.targets if isinstance(t, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.value
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from defined(getattr(statement, part, []))


def public_names(tree: ast.Module) -> set[str]:
    """Return what a module declares in ``__all__``, and what it defines without an underscore."""
    names: set[str] = set()
    for name, value in defined(tree.body):
        if name == "__all__" and value is not None:
            names.update(ast.literal_eval(value))
        elif not name.startswith("_"):
            names.add(name)
    return names


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("torch", nargs="?", help="a wheel of PyTorch, or the folder of an installed one")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    torch = package(arguments.torch)
    names: set[str] = set()
    for module, tree in modules(torch / "cuda", "torch.cuda"):
        names.add(module)
        names.update(f"{module}.{name}" for name in public_names(tree))
    text = HEADER.format(version=version(torch)) + "".join(f"{name}\n" for name in sorted(names))
    arguments.output.write_bytes(text.encode())
    print(f"{arguments.output}: {len(names)} names")


if __name__ == "__main__":
    main()
