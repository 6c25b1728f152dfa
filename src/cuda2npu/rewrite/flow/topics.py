"""What tells that a string is a device or a backend: the calls, methods and names that take one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Topic:
    """A meaning that a string can have.

    :param words: words of identifiers that hold such a value (``target_device``).
    :param calls: dotted function -> position of the parameter that takes one.
    :param methods: name of a method of torch objects -> position of that parameter.
    :param prefix: dotted prefix of functions whose first or second parameter takes one.
    :param attributes: attributes that hold one, whatever the object.
    :param results: dotted functions that return one.
    """

    words: frozenset[str]
    calls: Mapping[str, int]
    methods: Mapping[str, int] = field(default_factory=dict)
    prefix: str = ""
    attributes: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()

    def names(self, identifier: str) -> bool:
        """Whether an identifier says that it holds such a value."""
        return any(word.lower() in self.words for word in _WORD.findall(identifier))

    def takes(self, function: str, position: int | None) -> bool:
        """Whether the function ``function`` takes such a value, at ``position`` or (None) at all."""
        if function in self.calls:
            return position in (None, self.calls[function])
        # set_rng_state(state, device), can_device_access_peer(device, peer): first or second.
        return bool(self.prefix) and function.startswith(self.prefix) and position in (None, 0, 1)


# Signatures as documented for PyTorch 2.13; the position counts from 0.
DEVICE = Topic(
    words=frozenset({"device", "devices", "dev", "gpu", "location"}),
    calls={
        "torch.device": 0,
        "torch.autocast": 0,
        "torch.amp.autocast": 0,
        "torch.amp.autocast_mode.autocast": 0,
        "torch.amp.GradScaler": 0,
        "torch.GradScaler": 0,
        "torch.amp.is_autocast_available": 0,
        "torch.amp.custom_fwd": 99,  # keyword only
        "torch.amp.custom_bwd": 99,
        "torch.is_autocast_enabled": 0,
        "torch.set_autocast_enabled": 0,
        "torch.get_autocast_dtype": 0,
        "torch.set_autocast_dtype": 0,
        "torch.load": 1,
        "torch.jit.load": 1,
        "torch.set_default_device": 0,
        "torch.get_device_module": 0,
        "torch.Generator": 0,
        "torch.Stream": 0,
        "torch.Event": 0,
        "torch.as_tensor": 2,
        "torch.random.fork_rng": 4,
        "torch.utils.checkpoint.DefaultDeviceType.set_device_type": 0,
        "torch.distributed.device_mesh.init_device_mesh": 0,
        "torch.distributed.device_mesh.DeviceMesh": 0,
        "torch.distributed.init_device_mesh": 0,
        "torch.distributed.DeviceMesh": 0,
        "torch.Tensor.to": 1,
        "torch.library.register_kernel": 1,
        "torch.nn.Module.to": 1,
        "torch.utils.cpp_extension.include_paths": 0,
    },
    methods={"to": 0, "cuda": 0, "to_empty": 0, "pin_memory": 0, "is_pinned": 0, "register_kernel": 0},
    prefix="torch.cuda.",
    attributes=frozenset({"device"}),
    results=frozenset({"torch.device", "torch.get_default_device", "torch.accelerator.current_accelerator"}),
)
BACKEND = Topic(
    words=frozenset({"backend", "backends"}),
    calls={
        "torch.distributed.init_process_group": 0,
        "torch.distributed.distributed_c10d.init_process_group": 0,
        "torch.distributed.new_group": 2,
        "torch.distributed.new_subgroups": 99,
        "torch.distributed.Backend": 0,
        "torch.distributed.is_backend_available": 0,
        "torch.distributed.split_group": 99,
    },
    results=frozenset({"torch.distributed.get_backend", "torch.distributed.Backend"}),
)
