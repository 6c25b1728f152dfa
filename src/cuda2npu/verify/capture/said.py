"""What a capture says when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cuda2npu.messages import say
from cuda2npu.runner.summary import Line
from cuda2npu.verify.store import open_captures

_PLACES = {"npu": "npu", "simulated": "npu", "cuda": "cuda", "cpu-as-cuda": "cuda"}


def after(folder: Path, lang: str) -> Iterator[Line]:
    """Yield how much was recorded, and whether it was computed where it was meant to be.

    :raises CaptureError: if the capture can't be read.
    """
    if not folder.is_dir():  # the script has failed before there was anything to record
        return
    capture = open_captures(folder)[0]
    yield Line(say("capture_done", lang, steps=len(capture.steps), folder=folder), "bold")
    place = _PLACES.get(capture.header.device)
    if place is None or not capture.steps:
        return
    devices = {record.device for record in capture.records(capture.steps[0]) if record.shape is not None}
    if not any(device.startswith(place) for device in devices):
        yield Line(say("capture_elsewhere", lang, device=place.upper().replace("CUDA", "GPU")), "bold red")
