"""A capture may come from anywhere: what it shouldn't be is one line, and never waits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from cuda2npu.verify.records import Header, Key, Kind, Record, Statistics  # noqa: E402
from cuda2npu.verify.store import Capture, CaptureError, Writer  # noqa: E402

NESTED = "[" * 200_000
STEP = "step-000000"


@pytest.fixture
def folder(tmp_path) -> Path:
    writer = Writer(tmp_path, Header("m.py:build", "cpu", settings={"steps": 1}))
    writer.begin_step(0)
    numbers = Statistics(0, 1, 0.5, 1)
    writer.add(Record(Key(Kind.INPUT, "Net", 0, "0"), 0, "float32", (2,), statistics=numbers), torch.ones(2))
    writer.add(Record(Key(Kind.OUTPUT, "Net", 0, ""), 1, "float32", (2,), same_as=0))
    writer.add(Record(Key(Kind.OUTPUT, "Net", 0, "text"), 2, "str", value="a\u2028b\udc80"))
    writer.end_step()
    return tmp_path


def read(folder: Path) -> list[Record]:
    capture = Capture(folder)
    return [record for step in capture.steps for record in capture.records(step)]


def change(path: Path, line: int, **changes: object) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[line] = json.dumps({**json.loads(lines[line]), **changes})
    path.write_text("\n".join(lines), encoding="utf-8")


def test_what_was_written_is_read(folder):
    assert [record.value for record in read(folder)] == [None, None, "a\u2028b\udc80"]


def test_a_record_without_numbers_is_still_one(folder):
    path = folder / STEP / "records.jsonl"
    change(path, 0, statistics=None, tensor=None, shard=None)
    assert read(folder)[0].statistics is None


@pytest.mark.parametrize(
    "changes",
    [
        {"order": "x"},
        {"order": True},
        {"order": 1},
        {"same_as": []},
        {"same_as": "x"},
        {"same_as": 0},
        {"same_as": 999},
        {"shard": 1},
        {"shard": ["a"]},
        {"tensor": 5},
        {"statistics": "x"},
        {"statistics": {"minimum": [1]}},
        {"statistics": {"minimum": 1, "maximum": 1, "mean": 1, "norm": 1, "more": 1}},
        {"statistics": {"minimum": 1, "maximum": 1, "mean": 1, "norm": 1, "nan": None}},
        {"module": 5},
        {"kind": "x"},
        {"shape": [1.5]},
        {"shape": "12"},
        {"name": None},
        {"training": 1},
        {"source": {}},
        {"value": []},
        {"unknown": 1},
    ],
    ids=str,
)
def test_records(folder, changes):
    change(folder / STEP / "records.jsonl", 0, **changes)
    with pytest.raises(CaptureError, match="the capture is damaged") as caught:
        read(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{STEP}/records.jsonl", NESTED + "\n\n\n"),
        (f"{STEP}/records.jsonl", "[]\n1\nnull\n"),
        (f"{STEP}/done.json", '{"records": Infinity, "shards": {}}'),
        (f"{STEP}/done.json", '{"records": 3, "shards": {"tensors-000.safetensors": "x"}}'),
        (f"{STEP}/done.json", '{"records": 3, "shards": []}'),
        ("capture.json", NESTED),
    ],
)
def test_files(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(CaptureError, match="the capture is damaged"):
        read(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": "x"},
        {"environment": []},
        {"inventory": "x"},
        {"inventory": {}},
        {"inventory": {"schema": "other"}},
        {"complete": "no"},
        {"device": 1},
        {"dtype": None},
        {"settings": []},
        {"settings": {"steps": "many"}},
        {"replaced": [1]},
        {"replaced": "abc"},
        {"rank": "0"},
    ],
    ids=str,
)
def test_headers(folder, changes):
    path = folder / "capture.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(CaptureError, match="the capture is damaged"):
        Capture(folder)


@pytest.mark.parametrize("name", [f"{STEP}/records.jsonl", "capture.json", f"{STEP}/tensors-000.safetensors"])
def test_a_pipe_is_no_file(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(CaptureError, match="the capture is damaged"):
        read(folder)


def test_folders_that_are_no_steps_are_left_alone(folder):
    for name in ("step-\u00b2", "step-0000000", "step-1", "step--00001"):
        (folder / name).mkdir()
        (folder / name / "done.json").write_text("{}")
    assert Capture(folder).steps == [0]
