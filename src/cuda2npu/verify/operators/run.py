"""The inventory of a whole run: each process takes its own, the parent adds them up."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing import util
from pathlib import Path
from typing import Any

from cuda2npu.runner.variables import THEN
from cuda2npu.verify.operators.inventory import SCHEMA, SHAPES, Inventory

_Json = dict[str, Any]
_FOLDER = "CUDA2NPU_RUN_INVENTORY"


def variables(folder: Path) -> dict[str, str]:
    """Return those by which each process of a run leaves its inventory in an existing folder."""
    return {_FOLDER: str(folder), THEN: f"{__name__}:{take_until_exit.__name__}"}


def take_until_exit() -> None:
    """Take the inventory of this process from here on, and leave it in the run's folder at the end."""
    folder, owner = Path(os.environ[_FOLDER]), os.getpid()
    inventory = Inventory()
    inventory.__enter__()  # a mode of the main thread, for as long as there is one

    def write() -> None:
        if os.getpid() != owner:  # a child that was forked from it
            return
        text = json.dumps(inventory.as_json())
        with contextlib.suppress(OSError):  # the parent was killed and its folder is gone
            (folder / f"{owner}.json").write_text(text, encoding="utf-8")

    atexit.register(write)
    util.Finalize(None, write, exitpriority=0)  # multiprocessing's children end without atexit


def collect(folder: Path) -> _Json | None:
    """Add up what the processes of a run left in ``folder``; None if there is nothing."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError):  # a process that was killed while it wrote
            found.append(json.loads(path.read_text(encoding="utf-8")))
    return merged(found) if found else None


def merged(inventories: Sequence[Mapping[str, Any]]) -> _Json:
    """Return the sum of inventories, as of the ranks of a run; steps are those of the longest.

    :raises ValueError: if there is none.
    """
    if not inventories:
        raise ValueError("there is no inventory to add up")
    devices = [found["device"] for found in inventories]
    return {
        "schema": SCHEMA,
        "torch": inventories[0]["torch"],
        "device": next((device for device in devices if device != "cpu"), "cpu"),
        "steps": max(found["steps"] for found in inventories),
        "operators": _summed(_all(inventories, "operators"), ("name", "overload", "device")),
        "syncs": _summed(_all(inventories, "syncs"), ("operator", "device", "source")),
        "transfers": _summed(_all(inventories, "transfers"), ("from", "to", "source", "blocking")),
        "dynamic": _summed(_all(inventories, "dynamic"), ("operator", "device", "source")),
    }


def _all(inventories: Iterable[Mapping[str, Any]], what: str) -> Iterator[Mapping[str, Any]]:
    for found in inventories:
        yield from found[what]


def _summed(rows: Iterable[Mapping[str, Any]], key: Sequence[str]) -> list[_Json]:
    sums: dict[tuple[Any, ...], _Json] = {}
    for row in rows:
        here = sums.setdefault(tuple(row[name] for name in key), {})
        if not here:
            here.update(json.loads(json.dumps(row)))  # a copy: the lists in it are added to
            continue
        for count in {"calls", "backward", "bytes"} & row.keys():
            here[count] += row[count]
        if "dtypes" in row:
            here["dtypes"] = {**row["dtypes"], **here["dtypes"]}
            here["from_data"] = here["from_data"] or row["from_data"]
        if "shapes" in row:
            new = [shape for shape in row["shapes"] if shape not in here["shapes"]]
            room = SHAPES - len(here["shapes"])
            here["shapes"] += new[:room]
            # Those that weren't kept may be the same in both: at least so many there were.
            here["more_shapes"] = max(here["more_shapes"], row["more_shapes"], len(new) - room)
    return list(sums.values())
