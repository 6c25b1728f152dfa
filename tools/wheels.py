"""The public torch_npu wheels that the tables are read from."""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

# The newest post release of each minor version; 2.2 was never published to PyPI.
RELEASES = (
    "2.1.0.post17",
    "2.3.1.post6",
    "2.4.0.post4",
    "2.5.1.post1",
    "2.6.0.post5",
    "2.7.1.post11",
    "2.8.0.post5",
    "2.9.1",
    "2.10.0.post7",
    "2.11.0.post3",
    "2.12.0.post3",
    "2.13.0",
    "2.14.0",
)
PYTHON = "3.11"  # a Python for which all of RELEASES have a wheel
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64")
INDEX = "https://pypi.org/simple/torch-npu/"


def fetch(folder: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the wheel of each release, oldest first, and what a table says of it: version, name, hash, date.

    :param folder: where the wheels are kept; what is missing there is fetched with pip.
    """
    dates = _uploads()
    for release in RELEASES:
        path = _download(release, folder)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        listed, date = dates[path.name]
        if sha256 != listed:
            raise SystemExit(f"{path}: sha256 is {sha256}, PyPI has {listed}; delete the file and run again")
        version = ".".join(release.split(".")[:2])
        yield path, {"torch": version, "wheel": f"torch_npu-{release}", "sha256": sha256, "date": date}


def rebuild(what: str | None, output: Path, build: Callable[[Path], str]) -> None:
    """Read the command line of a script that writes a table, and write it.

    :param build: takes the folder of the wheels and returns the table as text.
    """
    options = argparse.ArgumentParser(description=what, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument(
        "--wheels", type=Path, help="folder that keeps the wheels (default: a temporary one)"
    )
    options.add_argument("--output", type=Path, default=output)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.wheels or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        given.output.write_text(build(folder), encoding="utf-8")


def _download(release: str, folder: Path) -> Path:
    """Return the wheel of ``release`` in ``folder``, fetched with pip if it isn't there yet."""
    pattern = f"torch_npu-{release}-cp{PYTHON.replace('.', '')}-*x86_64.whl"
    if not any(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        for platform in PLATFORMS:
            command += ["--platform", platform]
        command += ["--python-version", PYTHON, "--dest", str(folder), f"torch_npu=={release}"]
        subprocess.run(command, check=True)
    return next(folder.glob(pattern))


def _uploads() -> dict[str, tuple[str, str]]:
    """Return file name -> (sha256, upload date) as PyPI's JSON index (PEP 700) has them."""
    request = urllib.request.Request(INDEX, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    return {file["filename"]: (file["hashes"]["sha256"], file["upload-time"][:10]) for file in files}
