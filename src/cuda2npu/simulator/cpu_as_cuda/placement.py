"""Devices: what is sent to "cuda" stays on the CPU, and says that it is on "cuda".

A tensor on the CPU that stands for one on a GPU carries a mark, the number of the GPU. The result of an
operator with a marked argument is marked, too. So ``x.is_cuda`` and ``x.device`` answer as they would on a
GPU, and the program takes the branches that it would take there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

_MARK = "_stands_for_cuda"
_current = 0  # number of the current GPU


def current_device() -> int:
    """Return the number of the current GPU."""
    return _current


def set_device(device: Any) -> None:
    """Make a GPU the current one."""
    global _current
    _current = number_of(device)


def is_cuda(value: Any) -> bool:
    """Whether ``value`` names a GPU, as a text or as a device."""
    if isinstance(value, str):
        return value.startswith("cuda")
    return isinstance(value, torch.device) and value.type == "cuda"


def number_of(value: Any) -> int:
    """Return the number of the GPU that a text, a device, a number or None means.

    :raises RuntimeError: if there is no such GPU.
    """
    index = value if isinstance(value, int) or value is None else torch.device(value).index
    if index is None or index < 0:
        return _current
    count = torch.cuda.device_count()
    if index >= count:
        raise RuntimeError(f"CUDA error: invalid device ordinal {index}: there are {count}, see --devices")
    return int(index)


def mark(value: Any, number: int) -> Any:
    """Mark the tensors in a result; return the result."""
    for tensor in _tensors(value):
        setattr(tensor, _MARK, number)
    return value


def _number_of_mark(tensor: torch.Tensor) -> int | None:
    number: int | None = getattr(tensor, _MARK, None)
    return number


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _send(
    tensor: torch.Tensor, number: int | None, dtype: torch.dtype | None = None, copy: bool = False
) -> Any:
    """Return ``tensor`` on a GPU, or for None on the CPU: the same one if it is there, else a copy.

    A copy to another device keeps the strides of a dense tensor and makes any other one contiguous, as
    ``Tensor.to(copy=True)`` does on one device, too.
    """
    moves = number != _number_of_mark(tensor)
    sent = tensor.to(dtype=dtype or tensor.dtype, copy=copy or moves)
    if moves and hasattr(sent, _MARK):
        delattr(sent, _MARK)
    return sent if number is None else mark(sent, number)


class _CudaOnCpu(TorchFunctionMode):
    """Sees every call of a torch function."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        special = _SPECIAL.get(getattr(func, "__name__", ""))
        if special is not None and args and isinstance(args[0], torch.Tensor):
            return special(func, *args, **kwargs)
        if func is torch.device:
            return func(*args, **kwargs)
        number = next((n for t in _tensors(args) if (n := _number_of_mark(t)) is not None), None)
        if "device" in kwargs and kwargs["device"] is not None:
            device = kwargs["device"]
            on_gpu = is_cuda(device) or (isinstance(device, int) and not isinstance(device, bool))
            number = number_of(device) if on_gpu else None
            kwargs["device"] = "cpu" if on_gpu else device
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False  # pinning asks CUDA's driver
        result = func(*("cpu" if is_cuda(arg) else arg for arg in args), **kwargs)
        return result if number is None else mark(result, number)


def _to(func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.to``, in all its forms."""
    place = kwargs.pop("device", None)
    given = list(args)
    if given and isinstance(given[0], torch.Tensor):
        other = given.pop(0)
        return _send(tensor, _number_of_mark(other), other.dtype, kwargs.get("copy", False))
    if given and (isinstance(given[0], (str, torch.device)) or type(given[0]) is int):
        place = given.pop(0)
    if place is None:
        return mark_as(tensor, func(tensor, *given, **kwargs))
    dtype = kwargs.pop("dtype", None) or next((v for v in given if isinstance(v, torch.dtype)), None)
    number = number_of(place) if type(place) is int or is_cuda(place) else None
    sent = _send(tensor, number, dtype, kwargs.pop("copy", False))
    memory_format = kwargs.pop("memory_format", None)
    return mark_as(sent, sent.to(memory_format=memory_format)) if memory_format else sent


def mark_as(model: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Give ``value`` the mark of ``model``."""
    number = _number_of_mark(model)
    marked: torch.Tensor = value if number is None else mark(value, number)
    return marked


def _cuda(func: Any, tensor: torch.Tensor, device: Any = None, *args: Any, **kwargs: Any) -> Any:
    return _send(tensor, number_of(device))


def _cpu(func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    return _send(tensor, None)


def _type(func: Any, tensor: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.type``, with the names of CUDA's legacy types: ``torch.cuda.FloatTensor``."""
    if dtype is None:
        name = str(func(tensor))
        return name if _number_of_mark(tensor) is None else name.replace("torch.", "torch.cuda.", 1)
    if not (isinstance(dtype, str) and dtype.startswith("torch.cuda.")):
        return mark_as(tensor, func(tensor, dtype, *args, **kwargs))
    return _send(func(tensor, dtype.replace("cuda.", "", 1), *args, **kwargs), number_of(None))


def _packed(func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Pack a padded sequence: its batch sizes stay on the CPU."""
    data, batch_sizes = func(tensor, *args, **kwargs)
    return mark_as(tensor, data), batch_sizes


def _repr(func: Any, tensor: torch.Tensor, **kwargs: Any) -> str:
    """Name the device in a printed tensor, which asks for it while no mode is on."""
    with _CudaOnCpu():
        return torch._tensor_str._str(tensor, **kwargs)


def _getter(func: Any, tensor: torch.Tensor, *args: Any) -> Any:
    """``x.device`` and ``x.is_cuda``."""
    number = _number_of_mark(tensor)
    if number is None:
        return func(tensor, *args)
    if func == torch.Tensor.device.__get__:
        return torch.device("cuda", number)
    if func == torch.Tensor.is_cuda.__get__:
        return True
    return mark(func(tensor, *args), number)


def _get_device(func: Any, tensor: torch.Tensor) -> int:
    number = _number_of_mark(tensor)
    return -1 if number is None else number


def _dropout(func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Devices drop out with one kernel, the CPU with three, which round half precision differently.

    The parameters are ``p, training, inplace`` in ``torch.nn.functional`` and ``p, train`` in ``torch``.
    """
    values: list[Any] = [0.5, True, False]
    values[: len(args)] = args
    p, training, inplace = values
    p, inplace = kwargs.get("p", p), kwargs.get("inplace", inplace)
    training = kwargs.get("training", kwargs.get("train", training))
    number = _number_of_mark(tensor)
    if number is None or not training or inplace or not 0 < p < 1:
        return mark_as(tensor, func(tensor, *args, **kwargs))
    dropped: torch.Tensor = mark(torch.native_dropout(tensor, p, True)[0], number)
    return dropped


def _as_it_is(func: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return tensor


_SPECIAL: dict[str, Callable[..., Any]] = {
    "to": _to,
    "cuda": _cuda,
    "cpu": _cpu,
    "__get__": _getter,
    "get_device": _get_device,
    "dropout": _dropout,
    "pin_memory": _as_it_is,
    "_pack_padded_sequence": _packed,
    "__repr__": _repr,
    "type": _type,
}


def install() -> None:
    """Map devices in calls of torch functions, of modules, and in ``torch.load``."""
    _CudaOnCpu().__enter__()
    _reach_threads()
    _reach_backward_passes()
    _keep_marks_of_parameters()
    torch.Tensor.record_stream = lambda self, stream: None
    _wrap_default_device()
    _wrap_modules()
    _wrap_load()
    _wrap_default_tensor_type()


def _reach_threads() -> None:
    """A mode is on in one thread only: turn it on in those that the program starts."""
    thread: Any = threading.Thread
    start = thread.start

    def start_with_mode(self: Any) -> None:
        run = self.run

        def run_with_mode() -> None:
            with _CudaOnCpu():
                run()

        self.run = run_with_mode
        start(self)

    thread.start = start_with_mode


def _reach_backward_passes() -> None:
    """``loss.backward()`` is a torch function itself, and within those the mode is off.

    Python code runs there, too: checkpoints compute a second time, and functions have their own backward.
    """
    run = torch.autograd._engine_run_backward

    def run_with_mode(*args: Any, **kwargs: Any) -> Any:
        active = any(isinstance(mode, _CudaOnCpu) for mode in _get_current_function_mode_stack())
        with nullcontext() if active else _CudaOnCpu():
            return run(*args, **kwargs)

    torch.autograd._engine_run_backward = run_with_mode


def _keep_marks_of_parameters() -> None:
    """Where a parameter is made of a tensor, and where it is copied, a mode sees nothing."""
    make = torch.nn.Parameter.__new__

    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> torch.Tensor:
        parameter: torch.Tensor = make(cls, data, requires_grad)
        return parameter if data is None else mark_as(data, parameter)

    torch.nn.Parameter.__new__ = new


def _wrap_modules() -> None:
    """Modules move their tensors in place: the very parameters, which an optimizer may hold already."""
    to = torch.nn.Module.to

    def module_to(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        place = kwargs.pop("device", None)
        given = list(args)
        if given and (isinstance(given[0], (str, torch.device)) or type(given[0]) is int):
            place = given.pop(0)
        if given or kwargs:
            to(self, *given, **kwargs)
        if place is None:
            return self
        return _place(self, number_of(place) if type(place) is int or is_cuda(place) else None)

    torch.nn.Module.to = module_to
    torch.nn.Module.cuda = lambda self, device=None: _place(self, number_of(device))
    torch.nn.Module.cpu = lambda self: _place(self, None)


def _place(module: torch.nn.Module, number: int | None) -> torch.nn.Module:
    """Give parameters new memory, and buffers new tensors, as a move to another device does."""
    with torch.no_grad():
        for part in module.modules():
            for parameter in part.parameters(recurse=False):
                for tensor in filter(lambda t: t is not None, (parameter, parameter.grad)):
                    if _number_of_mark(tensor) != number:
                        tensor.data = tensor.data.clone()
                        _set_mark(tensor, number)
            for name, buffer in part._buffers.items():
                if buffer is not None:
                    part._buffers[name] = _send(buffer, number)
    return module


def _set_mark(tensor: torch.Tensor, number: int | None) -> None:
    if number is not None:
        mark(tensor, number)
    elif hasattr(tensor, _MARK):
        delattr(tensor, _MARK)


def _wrap_default_device() -> None:
    set_device = torch.set_default_device

    def set_default_device(device: Any) -> None:
        set_device("cpu" if is_cuda(device) else device)

    torch.set_default_device = set_default_device


def _wrap_load() -> None:
    load = torch.load

    def load_on_cpu(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Everything that was saved lies on the CPU; a table or a function for other places isn't asked."""
        return load(file, "cpu", *args, **kwargs)

    torch.load = load_on_cpu
    torch.serialization.load = load_on_cpu


def _wrap_default_tensor_type() -> None:
    set_type = torch.set_default_tensor_type

    def set_default_tensor_type(kind: Any) -> None:
        set_type(kind.replace("torch.cuda.", "torch.") if isinstance(kind, str) else kind)

    torch.set_default_tensor_type = set_default_tensor_type
