"""A model's weights on their way into a capture, and out of one into another model."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from cuda2npu.verify.capture.names import inner, without_wrappers
from cuda2npu.verify.store import WEIGHTS, Capture, CaptureError, Writer, open_captures

_NAMED = 5  # so many are named in a message


def are_there(folder: Path) -> bool:
    """Whether a capture has weights already."""
    return (folder / WEIGHTS).is_file()


def of_capture(folder: str) -> dict[str, torch.Tensor]:
    """Return the weights of a capture; there are none in that of a program without modules.

    :raises CaptureError: if they are damaged.
    """
    capture = open_captures(Path(folder))[0]
    return capture.weights() if are_there(capture.folder) else {}


def _named(module: nn.Module, name: str) -> dict[str, torch.Tensor]:
    """Return parameters and buffers; one that is shared stands under each of its names."""
    module = inner(module)
    tensors = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    # What a lazy module hasn't made yet comes from the random numbers of its first call.
    return {f"{name}.{without_wrappers(path)}": tensor for path, tensor in tensors if not is_lazy(tensor)}


def write(writer: Writer, module: nn.Module, name: str, beside: bool) -> None:
    """Write the weights of a root.

    :param beside: whether those that are there, of the roots before it, stay.
    """
    there = Capture(writer.folder).weights() if beside else {}
    writer.write_weights({**there, **_named(module, name)})


def load(module: nn.Module, name: str, found: dict[str, torch.Tensor]) -> list[str]:
    """Write weights into a root, in place; return the names of those that were others before.

    :raises CaptureError: if one is missing or of another shape.
    """
    wanted = _named(module, name)
    missing = [each for each in wanted if each not in found]
    if missing:
        raise CaptureError(f"{len(missing)} weights aren't in the capture given by --like: {_first(missing)}")
    other = [
        f"{each} is {list(found[each].shape)} there and {list(tensor.shape)} here"
        for each, tensor in wanted.items()
        if found[each].shape != tensor.shape
    ]
    if other:
        raise CaptureError(f"{len(other)} weights don't fit those given by --like: {_first(other)}")
    replaced = []
    for each, tensor in wanted.items():
        if not torch.equal(tensor.cpu().to(found[each].dtype), found[each]):
            replaced.append(each)
            tensor.copy_(found[each])
    return replaced


def _first(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
