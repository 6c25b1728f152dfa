"""Error codes in logs: what is found, what is not, and logs that aren't text."""

from __future__ import annotations

import io
import os
import tracemalloc

import pytest
from doctor_machine import HEALTHY
from hypothesis import given
from hypothesis import strategies as st

from cuda2npu.doctor.codes import codes
from cuda2npu.doctor.diagnosis import examine
from cuda2npu.doctor.log import BLOCK, OVERLAP, scan

# A line as it stands in logs -> the codes in it.
LINES = {
    "[ERROR] 2024-03-07-01:31:48 (PID:116072, Device:0, RankID:-1) ERR00002 PTA invalid type": ["ERR00002"],
    "EI0002: [PID: 7277] 2024-11-28-11:59:30.645.648 The wait execution of the Notify register times out.": [
        "EI0002"
    ],
    "[PID: 1] 2025 Resource_Error_Insufficient_Device_Memory(EI0011): Failed to allocate": ["EI0011"],
    "\x1b[31mEI0006\x1b[0m: Getting socket times out": ["EI0006"],
    "The argument is invalid. ErrorCode=EE1001.": ["EE1001"],
    "Warning: NPU warning, error code is 507048[Error]:": ["507048"],
    "NPU function error: c10_npu::SetDevice(device_id_), error code is 507033": ["507033"],
    "rtStreamSynchronize execute failed, retCode=507015, ret[507018]": ["507015", "507018"],
    "call failed, runtime result = 207001.": ["207001"],
    "error code: 107002": ["107002"],
    "call aclnnAdd failed, detail:EZ1001: x": ["EZ1001"],
    "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; ...)": ["NPU out of memory"],
    "RuntimeError: Cannot re-initialize NPU in forked subprocess. To use NPU with ...": [
        "Cannot re-initialize NPU in forked subprocess"
    ],
    "RuntimeError: Failed to load the backend extension: torch_npu. You can disable": [
        "Failed to load the backend extension: torch_npu"
    ],
    "ImportError: libhccl.so: cannot open shared object file: No such file or directory": ["libhccl.so"],
    "dcmi module initialize failed. ret is -8005": ["dcmi initialize failed"],
    "EI0099: something new": ["EI0099"],
    # No codes at all.
    "step 507011 loss 0.1, tokens=107002, 0x507011, 507011ms": [],
    "commit E10035AB, abcE10035, E1003, EPOCH E10 ERR0100 XERR00100": [],
    "result: 507011.5": [],
    "opened libhccl.so": [],
}


def found(data: bytes, block: int | None = None):
    stream = io.BytesIO(data) if block is None else Drips(data, block)
    return scan("x", stream, codes())


class Drips(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.size)


def pairs(result):
    return [(hit.code, hit.count, hit.line) for hit in result.hits]


@pytest.mark.parametrize("line", LINES)
def test_a_line(line):
    assert [hit.code for hit in found(line.encode()).hits] == LINES[line]


def test_each_code_stands_once_with_count_and_first_line():
    log = b"start\nEI0002: a\nerror code is 507015\nEI0002: b\nEI0002: c EI0006: d"
    result = found(log)
    assert result.lines == 5
    assert pairs(result) == [("EI0002", 3, 2), ("507015", 1, 3), ("EI0006", 1, 5)]


@pytest.mark.parametrize("data", [b"", b"\n", b"x", b"x\n", b"\n\n", b"a\nb"])
def test_lines_are_counted_as_one_counts(data):
    assert found(data).lines == len(data.splitlines())


@given(st.data())
def test_the_size_of_the_blocks_changes_nothing(data):
    words = st.sampled_from(
        [b"EI0002", b" ", b"\n", b"x", b"error code is 507011", b"NPU out of memory", b"\x00\xff", b"y" * 700]
    )
    log = b"".join(data.draw(st.lists(words, max_size=40)))
    size = data.draw(st.integers(1, 900))
    assert found(log, size) == found(log)


def test_a_code_on_the_border_of_two_blocks():
    for shift in range(-12, 12):
        log = b"a" * (BLOCK - OVERLAP + shift) + b" EI0002: x\n" + b"b" * BLOCK + b" EI0002"
        assert pairs(found(log)) == [("EI0002", 2, 1)]


def test_binary_garbage():
    result = found(os.urandom(3 << 20) + b"\n\x00EI0002\x00\n" + os.urandom(1 << 20))
    assert "EI0002" in [hit.code for hit in result.hits]


def test_a_gigantic_line_takes_little_memory():
    class Endless(io.RawIOBase):
        left = 200

        def read(self, size=-1):
            self.left -= 1
            return b"z" * size if self.left > 0 else (b" EI0002: end" if self.left == 0 else b"")

    tracemalloc.start()
    result = scan("x", Endless(), codes())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pairs(result) == [("EI0002", 1, 1)]
    assert peak < 16 << 20


@pytest.mark.parametrize(
    ("code", "known", "state", "meaning"),
    [
        ("ERR01003", True, "fault", "OPS: invalid value"),
        ("ERR01100", True, "fault", "operator of CANN failed"),
        ("ERR02200", True, "fault", "DIST: a call of HCCL failed"),
        ("ERR03300", True, "fault", "GRAPH: a call of the graph engine"),
        ("ERR99999", True, "warning", "UNKNOWN: the program or another package"),
        ("ERR42001", False, "warning", "doesn't know"),
        ("EI0099", False, "warning", "error code of HCCL that the doctor doesn't know"),
        ("EH9999", True, "fault", "ACL: an internal error"),
        ("507011", True, "fault", "model or graph failed"),
        ("599998", False, "warning", "doesn't know; its kind: an error inside hardware"),
        ("107999", False, "warning", "wrong set-up or wrong use"),
    ],
)
def test_what_a_code_means(code, known, state, meaning):
    result = codes().explain(code)
    assert (result.known, result.state.value) == (known, state)
    assert meaning in result.meaning.in_language("en")
    assert result.advice.in_language("en")
    assert result.source


def test_the_advice_names_this_machines_script_and_torch():
    log = found(b"libhccl.so: cannot open\nTwo accelerators cannot be used at the same time")
    advice = [each.meaning.advice.in_language("en") for each in examine(HEALTHY, log).log.codes]
    assert "$ source /usr/local/Ascend/ascend-toolkit/set_env.sh" in advice[0]
    assert "torch==2.7.1" in advice[1]
