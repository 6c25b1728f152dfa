"""What is planted into a module, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from cuda2npu.verify.selftest.models import ConvNet, pooled

Plant = Callable[[nn.Module, str], None]
ALL = ("ConvNet", "Transformer", "Recurrent")


@dataclass(frozen=True)
class Fault:
    """A fault and where it goes.

    :param plant: puts it into a model's submodule of this name.
    :param places: submodule by model; models that lack such a place are left out.
    :param blamed: who must be named, by model, where it isn't the submodule: who computes its input.
    :param drops: whether dropout is left on.
    :param dtypes: types in which it must be found.
    """

    name: str
    name_zh: str
    plant: Plant
    places: Mapping[str, str]
    blamed: Mapping[str, str] | None = None
    drops: bool = False
    dtypes: tuple[str, ...] = ("float32",)

    def culprit(self, model: str) -> str:
        """Return the name that a comparison must blame."""
        place = (self.blamed or self.places)[model]
        return f"{model}.{place}" if place else model


def _changed(change: Callable[[Tensor], Tensor]) -> Plant:
    """Return a plant that changes the module's output, or the first of several."""

    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    return lambda model, place: _discard(model.get_submodule(place).register_forward_hook(hook))


def _discard(handle: object) -> None:
    """The hook stays as long as the model does."""


def _zeroed(output: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    kept = torch.rand(output.shape, generator=generator) >= 0.01
    return output * kept.to(output.device, output.dtype)


def _swapped(output: Tensor) -> Tensor:
    axis = 1 if output.dim() == 4 else -1
    order = torch.arange(output.shape[axis], device=output.device)
    order[0], order[1] = 1, 0
    return output.index_select(axis, order)


def _with_nan(output: Tensor) -> Tensor:
    place = torch.arange(output.numel(), device=output.device).view(output.shape) == output.numel() // 3
    return output.masked_fill(place, float("nan"))


def _shifted(output: Tensor) -> Tensor:
    """Shift by a position of the sequence, or a column of the image."""
    return output.roll(1, dims=1 if output.dim() == 3 else -1)


def _stale(model: nn.Module, place: str) -> None:
    """Let the module compute with the weights of one step before."""
    module = model.get_submodule(place)
    seen: list[list[Tensor]] = []

    def before(module: nn.Module, args: Any) -> None:
        seen.append([parameter.detach().clone() for parameter in module.parameters()])
        _load(module, seen[-2] if len(seen) > 1 else seen[-1])

    def after(module: nn.Module, args: Any, output: Any) -> None:
        _load(module, seen[-1])

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)


def _load(module: nn.Module, values: list[Tensor]) -> None:
    for parameter, value in zip(module.parameters(), values):
        parameter.data.copy_(value)


def _eval_mode(model: nn.Module, place: str) -> None:
    model.get_submodule(place).eval()


def _nearest(model: nn.Module, place: str) -> None:
    """Resize by another mode, in the code between two modules."""
    assert isinstance(model, ConvNet)
    model.resize = lambda x: functional.interpolate(x, size=(24, 24), mode="nearest")


def _other_mean(model: nn.Module, place: str) -> None:
    """Leave the last column out of an average, in the code between two modules."""
    assert isinstance(model, ConvNet)
    model.pool = lambda x: pooled(x[..., :-1])


_PLACES = {"ConvNet": "blocks.0.conv2", "Transformer": "layers.1.attention.out", "Recurrent": "lstm"}
_HEADS = dict.fromkeys(ALL, "head")
_ANY = ("float32", "float16", "bfloat16")

FAULTS: tuple[Fault, ...] = (
    Fault("scale 1.01", "缩放 1.01", _changed(lambda x: x * 1.01), _PLACES, dtypes=_ANY),
    Fault("scale 1.3", "缩放 1.3", _changed(lambda x: x * 1.3), _PLACES),
    Fault("1 % zeroed", "1 % 元素置零", _changed(_zeroed), _PLACES),
    Fault("two channels swapped", "两个通道互换", _changed(_swapped), _PLACES),
    Fault("wrong dtype", "数据类型错误", _changed(lambda x: x.half()), _HEADS),
    Fault(
        "dropout left on",
        "Dropout 未关闭",
        lambda model, place: None,
        {"ConvNet": "dropout", "Transformer": "layers.0.dropout", "Recurrent": "dropout"},
        drops=True,
    ),
    Fault("BatchNorm in the wrong mode", "BatchNorm 模式错误", _eval_mode, {"ConvNet": "blocks.0.bn1"}),
    Fault("one nan", "一个 nan", _changed(_with_nan), _PLACES),
    Fault("shifted by one position", "错位一个位置", _changed(_shifted), _PLACES),
    Fault("weights of one step before", "使用上一步的权重", _stale, _PLACES),
    Fault("nearest for bilinear", "bilinear 误用 nearest", _nearest, {"ConvNet": "stem"}, {"ConvNet": ""}),
    Fault("a column left out", "漏掉一列", _other_mean, {"ConvNet": "dropout"}, {"ConvNet": ""}),
)
