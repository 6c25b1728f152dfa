"""Inputs and weights on their way into a model: cast, written, taken from a capture."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from torch import nn  # noqa: E402

from cuda2npu.verify.capture.inputs import cast, cast_module, named, of_capture  # noqa: E402
from cuda2npu.verify.records import Header  # noqa: E402
from cuda2npu.verify.store import Capture, CaptureError, Writer  # noqa: E402

CPU = torch.device("cpu")


def test_complex_numbers_keep_their_imaginary_parts():
    net = nn.Module()
    net.w = nn.Parameter(torch.tensor([1 + 2j], dtype=torch.complex64))
    net.b = nn.Parameter(torch.ones(1))
    assert cast_module(net, CPU, torch.float64) is net
    assert (net.w.dtype, net.b.dtype) == (torch.complex128, torch.float64)
    assert net.w.tolist() == [1 + 2j]
    assert (
        cast({"x": torch.ones(1, dtype=torch.complex64)}, CPU, torch.float64)["x"].dtype == torch.complex128
    )


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.bfloat16, torch.bool])
def test_inputs_come_back_as_they_were(tmp_path, dtype):
    inputs = {"x": (torch.ones(2, 3) * 3).to(dtype), "more": [torch.arange(3), 0.5]}
    Writer(tmp_path, Header("", "cpu")).write_inputs(named(inputs))
    others = {"x": torch.zeros(2, 3).to(dtype), "more": [torch.zeros(3, dtype=torch.int64), 0.5]}
    taken = of_capture(tmp_path, 0, others)
    assert torch.equal(taken["x"], inputs["x"])
    assert taken["more"][0].tolist() == [0, 1, 2]
    with pytest.raises(CaptureError, match=r"'x' is \[2, 3\] there and \[5\] here"):
        of_capture(tmp_path, 0, {"x": torch.zeros(5)})
    with pytest.raises(CaptureError, match=r"'y' isn't there: it has 'more\.0', 'x'"):
        of_capture(tmp_path, 0, {"y": torch.zeros(5)})


def test_complex_weights(tmp_path):
    writer = Writer(tmp_path, Header("", "cpu"))
    writer.write_weights({"w": torch.tensor([1 + 2j], dtype=torch.complex128).conj()})
    assert Capture(tmp_path).weights()["w"].tolist() == [1 - 2j]
