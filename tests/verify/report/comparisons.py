"""Comparisons to write reports of, shaped like those of a ResNet's training."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cuda2npu.verify.comparison import (
    Comparison,
    Curve,
    Divergence,
    Level,
    Metrics,
    Row,
    Side,
    Verdict,
    Worst,
)
from cuda2npu.verify.records import Key, Kind, Statistics

FAULT = "ResNet.layer3.2.conv2"


def metrics(error: float, *, cosine: float | None = None, norm_ratio: float | None = None) -> Metrics:
    return Metrics(
        cosine=1 - error**2 / 2 if cosine is None else cosine,
        norm_ratio=1 + error / 3 if norm_ratio is None else norm_ratio,
        relative_norm=error,
        max_absolute=error * 4.2,
        mean_absolute=error * 0.3,
        rms=error * 0.5,
        max_relative=error * 31,
        mean_relative=error * 1.7,
        small_errors=0.0,
        balance=0.03,
        thousandth=1.0,
        five_thousandths=1.0,
        quantiles=(error * 0.2, error, error * 1.6, error * 3.1),
        elements=401408,
        worst=Worst((3, 17, 5, 22), -1.2345678, -1.2345678 + error * 4.2),
    )


def module_row(name: str, kind: Kind, error: float, verdict: Verdict = Verdict.PASS, **more: Any) -> Row:
    message = "" if verdict is Verdict.PASS else f"relative norm {error:.3g} > 2 × 3.1e-07 of the benchmark"
    values: dict[str, Any] = {
        "step": 0,
        "order": 0,
        "key": Key(kind, name, path="0" if kind is Kind.INPUT else ""),
        "verdict": verdict,
        "rule": "benchmark-ratio",
        "message": message,
        "module": "Conv2d" if "conv" in name else "BatchNorm2d" if "bn" in name else "ReLU",
        "source": "models/resnet.py:94",
        "dtype": ("float32", "float32"),
        "shape": ((8, 256, 14, 14), (8, 256, 14, 14)),
        "metrics": metrics(error),
        "benchmark": metrics(2.4e-7),
        "noise": 0.0,
        "added": error / 5,
        "statistics": (Statistics(-4.1, 4.4, 0.01, 633.2), Statistics(-4.1, 4.4, 0.01, 633.3)),
    }
    return Row(**{**values, **more})


def network() -> Iterator[str]:
    yield from ("ResNet.conv1", "ResNet.bn1", "ResNet.relu")
    for layer, blocks in enumerate((3, 4, 6, 3), 1):
        for block in range(blocks):
            for part in ("conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "relu"):
                yield f"ResNet.layer{layer}.{block}.{part}"
    yield "ResNet.avgpool"
    yield "ResNet.fc"


def training(*, fault: str = FAULT, steps: int = 1) -> list[Row]:
    """Return the rows of so many steps; behind the module ``fault`` the error is large. "" for none."""
    chance = random.Random(0)
    rows: list[Row] = []
    names = list(network())
    for step in range(steps):
        error, wrong = 2e-7, False
        found = []
        for name in names:
            found.append(module_row(name, Kind.INPUT, error, Verdict.FAIL if wrong else Verdict.PASS))
            wrong = wrong or name == fault
            error = error * math.exp(chance.gauss(0.01, 0.15)) if name != fault else 0.013
            verdict = Verdict.FAIL if wrong else Verdict.WARN if error > 3.5e-7 else Verdict.PASS
            found.append(module_row(name, Kind.OUTPUT, error, verdict))
        loss = 2.3 * 0.9**step
        found.append(
            Row(
                step,
                0,
                Key(Kind.LOSS, ""),
                verdict,
                "loss",
                value=(loss, loss * (1 + error)),
                dtype=("float", "float"),
                metrics=Metrics(relative_norm=error, norm_ratio=1 + error, max_absolute=loss * error),
            )
        )
        for name in reversed(names):
            error *= math.exp(chance.gauss(0.005, 0.1))
            found.append(module_row(name, Kind.OUTPUT_GRADIENT, error, verdict))
            if "conv" in name:
                found.append(
                    module_row(f"{name}.weight", Kind.GRADIENT, error * 0.6, verdict, module="Conv2d")
                )
        rows += [replace(row, step=step, order=order) for order, row in enumerate(found)]
    return rows


def unmatched() -> Row:
    return module_row(
        "ResNet.aux.conv",
        Kind.OUTPUT,
        0.0,
        Verdict.INCOMPARABLE,
        rule="unmatched",
        message="the candidate has no such record",
        dtype=("float32", ""),
        shape=((8, 21, 14, 14), None),
        metrics=None,
        benchmark=None,
        noise=None,
        added=None,
        statistics=(Statistics(-1.0, 1.0, 0.0, 5.0), None),
    )


INVENTORY: dict[str, Any] = {
    "schema": "cuda2npu-inventory/1",
    "device": "npu",
    "steps": 2,
    "target": {"torch": "2.7.1", "soc": "ascend910b"},
    "operators": [
        {
            "name": f"aten::{name}",
            "overload": overload,
            "calls": calls,
            "dtypes": {"float32": "models/resnet.py:94"},
            "shapes": [[[8, 64, 56, 56], [64, 64, 3, 3]], [[8, 128, 28, 28], [128]], [[8]], [[]]],
            "more_shapes": 5,
            "source": "models/resnet.py:94",
            "device": "npu",
            "class": kind,
            "note": ["float64 is slow here", "float64 较慢"] if name == "grid_sampler_3d" else None,
        }
        for name, overload, calls, kind in (
            ("convolution", "", 106, "kernel"),
            ("native_batch_norm", "", 106, "kernel"),
            ("relu_", "", 98, "kernel"),
            ("silu", "", 2, "composite"),
            ("grid_sampler_3d", "", 4, "cpu"),
            ("_ctc_loss", "Tensor", 1, "none"),
            ("strange", "", 1, "unknown"),
        )
    ],
    "syncs": [
        {"operator": "aten::_local_scalar_dense", "device": "npu", "source": "train.py:61", "calls": 2}
    ],
    "transfers": [
        {"from": "cpu", "to": "npu", "source": "train.py:52", "blocking": True, "calls": 4, "bytes": 4816896}
    ],
    "dynamic": [],
}

REFERENCE = Side(
    "captures/reference",
    "train.py --steps 2",
    "cpu",
    "float64",
    {
        "torch": "2.13.0",
        "python": "3.11.7",
        "seed": 0,
        "flags": {"deterministic": True, "matmul.allow_tf32": None},
    },
)
CANDIDATE = Side(
    "captures/candidate",
    "train.py --steps 2",
    "simulated",
    "",
    {
        "torch": "2.13.0",
        "torch_npu": "2.7.1",
        "python": "3.11.7",
        "seed": 0,
        "flags": {"deterministic": False},
    },
    INVENTORY,
)
BENCHMARK = replace(REFERENCE, folder="captures/benchmark", dtype="")
FIRST = Divergence(
    0,
    FAULT,
    "Conv2d",
    "models/resnet.py:94",
    "Its inputs agree (relative norm 2.4e-07), its output does not (0.013).",
    "其输入一致（相对范数 2.4e-07），输出不一致（0.013）。",
)
LEVELS = (
    Level("build", Verdict.PASS),
    Level("forward", Verdict.FAIL, "first at ResNet.layer3.2.conv2", "首先出现在 ResNet.layer3.2.conv2"),
    Level("backward", Verdict.FAIL),
    Level("train", Verdict.FAIL),
    Level("evaluate", None, "no --data was given", "未指定 --data"),
)


def comparison(**changes: Any) -> Comparison:
    """Return a comparison in which one convolution is wrong."""
    rows = training(steps=2)
    rows.insert(20, unmatched())
    found = Comparison(
        verdict=Verdict.FAIL,
        criterion="table",
        reference=REFERENCE,
        candidate=CANDIDATE,
        benchmark=BENCHMARK,
        rows=rows,
        first=FIRST,
        curves=(
            Curve("loss", [2.31, 2.05, 1.83, 1.66, 1.54], [2.32, 2.09, 1.91, 1.80, math.nan]),
            Curve("learning_rate", [0.1, 0.1, 0.1, 0.01, 0.01], [0.1, 0.1, 0.1, 0.01, None]),
        ),
        notes=(("Dropout was switched off in both.", "两侧均关闭了 dropout。"),),
        levels=LEVELS,
    )
    return replace(found, **changes)


def passed(**changes: Any) -> Comparison:
    """Return a comparison in which all is well."""
    levels = tuple(Level(level.name, Verdict.PASS) for level in LEVELS)
    rows = [row for row in training(fault="") if row.verdict is Verdict.PASS]
    return replace(comparison(verdict=Verdict.PASS, first=None, levels=levels, rows=rows), **changes)
