"""The capture on disk, written step by step and read lazily.

::

    CAPTURE/
      capture.json                   the Header
      weights.safetensors            parameters and buffers before the first step, if they were asked for
      inputs.safetensors             of a model: its inputs by path, after they were cast
      step-000000/records.jsonl      a Record on each line, in the order of computation
      step-000000/tensors-000.safetensors   a shard of the tensors
      step-000000/done.json          what the files of the step hold; it is written last

Several processes write a capture each, into ``CAPTURE/rank-0``, ``CAPTURE/rank-1`` …

JSON and safetensors hold data only: reading a capture runs nothing that came with it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from cuda2npu.verify.checks import check, check_all
from cuda2npu.verify.operators.inventory import SCHEMA as INVENTORY_SCHEMA
from cuda2npu.verify.records import SCHEMA, Header, Record, header_from_json, record_from_json

HEADER = "capture.json"
WEIGHTS = "weights.safetensors"
INPUTS = "inputs.safetensors"
_COMPLEX = "complex"  # names of tensors that are written as pairs of real numbers
_RECORDS = "records.jsonl"
_DONE = "done.json"
_STEP = re.compile("step-[0-9]{6,9}")
_SHARD_BYTES = 64 * 2**20  # this much of a model is in memory at a time


class CaptureError(Exception):
    """A capture can't be read or written; the message says which, and what to do."""


class Writer:
    """Writes one process's capture; no more than a shard of it is in memory.

    Its methods raise :class:`CaptureError` where something can't be written.

    :param folder: made if it isn't there. Steps that are complete there are kept, so that an interrupted
        capture can be taken up again.
    """

    def __init__(self, folder: Path, header: Header) -> None:
        self.folder = folder
        self._step: _StepWriter | None = None
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self.write_header(header)

    def write_header(self, header: Header) -> None:
        """Write the header; the last one stays."""
        with _writing(self.folder):
            _write_json(self.folder / HEADER, asdict(header))

    def write_weights(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Write parameters and buffers by name; tensors that share memory are written out each."""
        self._write_tensors(WEIGHTS, tensors)

    def write_inputs(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Write a model's inputs by path."""
        self._write_tensors(INPUTS, tensors)

    def _write_tensors(self, name: str, tensors: Mapping[str, torch.Tensor]) -> None:
        """Complex numbers become pairs: safetensors has no type for all of them."""
        pairs = [each for each, tensor in tensors.items() if tensor.is_complex()]
        unshared = {}
        for each, tensor in tensors.items():
            plain = tensor.detach().cpu().resolve_conj().resolve_neg()
            unshared[each] = (torch.view_as_real(plain) if plain.is_complex() else plain).contiguous().clone()
        partial = self.folder / (name + ".part")
        with _writing(self.folder):
            save_file(unshared, str(partial), metadata={_COMPLEX: json.dumps(pairs)})
            shutil.copymode(self.folder / HEADER, partial)  # safetensors lets nobody else read it
            os.replace(partial, self.folder / name)

    def has_step(self, step: int) -> bool:
        """Whether an earlier run has completed this step."""
        return (_step_folder(self.folder, step) / _DONE).is_file()

    def begin_step(self, step: int) -> None:
        """Begin a step; what an interrupted run has left of it is overwritten."""
        with _writing(self.folder):
            self._step = _StepWriter(_step_folder(self.folder, step))

    def add(self, record: Record, tensor: torch.Tensor | None = None) -> None:
        """Add a record to the step that was begun; a tensor must lie on the CPU, and isn't copied."""
        assert self._step is not None, "begin_step comes first"
        with _writing(self.folder):
            self._step.add(record, tensor)

    def end_step(self) -> None:
        """Complete the step that was begun."""
        if self._step is not None:
            with _writing(self.folder):
                self._step.close()
        self._step = None


class _StepWriter:
    """Writes the files of one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        self._lines: TextIO = (folder / _RECORDS).open(
            "w",
            encoding="utf-8",
            errors="backslashreplace",  # half of a pair of surrogates
        )
        self._shard: dict[str, torch.Tensor] = {}
        self._waiting: list[Record] = []  # records are written behind their shard, never before it
        self._bytes = 0
        self._count = 0
        self._shards: dict[str, int] = {}

    def add(self, record: Record, tensor: torch.Tensor | None) -> None:
        if tensor is not None:
            name = f"tensors-{len(self._shards):03}.safetensors"
            key = str(record.order)
            record = replace(record, tensor=key, shard=name)
            self._shard[key] = tensor
            self._bytes += tensor.numel() * tensor.element_size()
        self._waiting.append(record)
        if self._bytes >= _SHARD_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._shard:
            path = self.folder / f"tensors-{len(self._shards):03}.safetensors"
            save_file(self._shard, str(path))
            self._shards[path.name] = path.stat().st_size
        for record in self._waiting:
            self._lines.write(json.dumps(record.as_json(), ensure_ascii=False) + "\n")
        self._count += len(self._waiting)
        self._shard, self._waiting, self._bytes = {}, [], 0

    def close(self) -> None:
        self._flush()
        self._lines.close()
        _write_json(self.folder / _DONE, {"records": self._count, "shards": self._shards})


class Capture:
    """A capture of one process, read from disk; tensors are read one at a time.

    :raises CaptureError: if the folder holds none, or one of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.header = _read_header(folder)

    @cached_property
    def steps(self) -> list[int]:
        """Numbers of the complete steps, ascending."""
        found = [path for path in self.folder.glob("step-*") if (path / _DONE).is_file()]
        numbers = {path: int(path.name[5:]) for path in found if _STEP.fullmatch(path.name)}
        return sorted(n for path, n in numbers.items() if _step_folder(self.folder, n) == path)

    def records(self, step: int) -> list[Record]:
        """Return the records of a step, in the order of computation.

        :raises CaptureError: if a file of the step is missing, shorter than it was, or not what it should be.
        """
        folder = _step_folder(self.folder, step)
        done = _read_json(folder / _DONE)
        try:
            check(done, {"records": int, "shards": dict})
            expected, shards = done["records"], done["shards"]
            check_all(shards.values(), int, "shards")
        except (KeyError, TypeError):
            raise _broken(folder / _DONE, "it doesn't say what the step holds") from None
        for name, size in shards.items():
            path = folder / Path(name).name
            if not path.is_file():
                raise _broken(path, "the file is missing")
            if path.stat().st_size != size:
                raise _broken(path, f"{size} bytes were written, {path.stat().st_size} are there")
        found = list(_read_records(folder / _RECORDS))
        if len(found) != expected:
            raise _broken(folder / _RECORDS, f"{expected} records were written, {len(found)} are there")
        _check_order(folder / _RECORDS, found)
        return found

    def tensor(self, step: int, record: Record) -> torch.Tensor | None:
        """Return the tensor of a record, on the CPU; None if only its statistics were kept.

        :raises CaptureError: if its file is damaged.
        """
        if record.tensor is None or record.shard is None:
            return None
        path = _step_folder(self.folder, step) / Path(record.shard).name
        if not path.is_file():
            raise _broken(path, "the file is missing")
        try:
            with safe_open(str(path), framework="pt") as shard:
                tensor: torch.Tensor = shard.get_tensor(record.tensor)
        except (SafetensorError, OSError) as error:
            raise _broken(path, str(error)) from None
        return tensor

    def weights(self) -> dict[str, torch.Tensor]:
        """Return parameters and buffers as they were before the first step.

        :raises CaptureError: if they weren't recorded, or are damaged.
        """
        return self._tensors(WEIGHTS, "the weights before the first step aren't here: capture it again")

    def inputs(self) -> dict[str, torch.Tensor]:
        """Return a model's inputs by path.

        :raises CaptureError: if there are none, as of a script, or they are damaged.
        """
        return self._tensors(INPUTS, "a model's inputs aren't here: give the capture of a model")

    def _tensors(self, name: str, missing: str) -> dict[str, torch.Tensor]:
        path = self.folder / name
        if not path.is_file():
            raise CaptureError(f"{self.folder}: {missing}")
        try:
            with safe_open(str(path), framework="pt") as file:
                names: list[str] = list(file.keys())
                pairs = set(json.loads((file.metadata() or {}).get(_COMPLEX, "[]")))
                return {key: _unpaired(file.get_tensor(key), key in pairs) for key in names}
        except (SafetensorError, OSError, ValueError, TypeError, RuntimeError) as error:
            raise _broken(path, str(error)) from None


def _unpaired(tensor: torch.Tensor, is_complex: bool) -> torch.Tensor:
    return torch.view_as_complex(tensor) if is_complex else tensor


def open_captures(folder: Path) -> list[Capture]:
    """Return the captures of a folder, one for each process, by rank.

    :raises CaptureError: if there is none, or one can't be read.
    """
    if not folder.is_dir():
        raise CaptureError(f"{folder}: no such folder: give the one that `cuda2npu capture -o` wrote")
    if (folder / HEADER).is_file():
        return [Capture(folder)]
    captures = [Capture(path) for path in folder.glob("rank-*") if path.is_dir()]
    if not captures:
        raise CaptureError(f"{folder}: this is no capture, {HEADER} is missing")
    return sorted(captures, key=lambda capture: capture.header.rank)


def rank_folder(folder: Path, rank: int, ranks: int) -> Path:
    """Return where the process of this rank writes its capture."""
    return folder / f"rank-{rank}" if ranks > 1 else folder


def _step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:06}"


def _read_header(folder: Path) -> Header:
    found = _read_json(folder / HEADER)
    schema = found.get("schema")
    if schema != SCHEMA:
        raise CaptureError(f"{folder / HEADER}: it is of schema {schema!r}, this program reads {SCHEMA}")
    try:
        header = header_from_json(found)
    except TypeError as error:
        raise _broken(folder / HEADER, str(error)) from None
    if header.inventory is not None and header.inventory.get("schema") != INVENTORY_SCHEMA:
        raise _broken(folder / HEADER, "inventory is none that this program reads")
    return header


def _read_records(path: Path) -> Iterator[Record]:
    for number, line in enumerate(_read_text(path).split("\n")[:-1], 1):
        try:
            yield record_from_json(json.loads(line))
        except (KeyError, OverflowError, RecursionError, TypeError, ValueError, AttributeError):
            raise _broken(path, f"line {number} is no record") from None


def _check_order(path: Path, records: Sequence[Record]) -> None:
    """A tensor that is the same as another is the same as one before it."""
    tensors: set[int] = set()
    orders: set[int] = set()
    for record in records:
        if record.order in orders:
            raise _broken(path, f"two records have the order {record.order}")
        orders.add(record.order)
        if record.same_as is not None and record.same_as not in tensors:
            raise _broken(path, f"record {record.order} is the same as {record.same_as}, no tensor before it")
        if record.shape is not None:
            tensors.add(record.order)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_read_text(path))
    except RecursionError:
        raise _broken(path, "it is nested too deep") from None
    except ValueError as error:
        raise _broken(path, str(error)) from None
    if not isinstance(found, dict):
        raise _broken(path, "it holds no object")
    return found


def _read_text(path: Path) -> str:
    """Read a file that is one: a pipe would let the reader wait."""
    if path.exists() and not path.is_file():
        raise _broken(path, "it is no file")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CaptureError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(path, str(error)) from None


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say in one line what keeps a capture from being written, such as a full disk."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaptureError(f"{folder}: the capture can't be written ({reason})") from None


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file completely or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, path)


def _broken(path: Path, why: str) -> CaptureError:
    return CaptureError(f"{path}: the capture is damaged ({why}): copy it again, or make it again")
