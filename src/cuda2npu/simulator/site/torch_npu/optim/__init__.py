"""The fused optimizers that equal one of torch's. They take fewer arguments than those."""

from __future__ import annotations

from typing import Any

import torch

from cuda2npu.simulator.names import only_names_of_target, refuse

__all__ = ["NpuFusedAdadelta", "NpuFusedAdam", "NpuFusedAdamW", "NpuFusedRMSprop", "NpuFusedSGD"]

_Betas = tuple[float, float]


class NpuFusedOptimizerBase(torch.optim.Optimizer):
    """What fused optimizers have beyond those of torch."""

    def clip_grad_norm_fused_(self, max_norm: float | int, norm_type: float | int = 2.0) -> torch.Tensor:
        """Scale all gradients so that their common norm is at most ``max_norm``; return the norm."""
        parameters = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)

    def get_combined_params(self) -> Any:
        """Not simulated: parameters keep memory of their own."""
        refuse("torch_npu.optim.NpuFusedOptimizerBase.get_combined_params")

    def get_combined_grads(self) -> Any:
        """Not simulated: gradients keep memory of their own."""
        refuse("torch_npu.optim.NpuFusedOptimizerBase.get_combined_grads")


class NpuFusedAdam(NpuFusedOptimizerBase, torch.optim.Adam):
    """Adam."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: _Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        torch.optim.Adam.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedAdamW(NpuFusedOptimizerBase, torch.optim.AdamW):
    """AdamW."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: _Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        torch.optim.AdamW.__init__(self, params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedSGD(NpuFusedOptimizerBase, torch.optim.SGD):
    """SGD. The rate has no usable default, as in torch before 2.3."""

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        torch.optim.SGD.__init__(self, params, lr, momentum, dampening, weight_decay, nesterov)


class NpuFusedAdadelta(NpuFusedOptimizerBase, torch.optim.Adadelta):
    """Adadelta."""

    def __init__(
        self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0
    ) -> None:
        torch.optim.Adadelta.__init__(self, params, lr, rho, eps, weight_decay)


class NpuFusedRMSprop(NpuFusedOptimizerBase, torch.optim.RMSprop):
    """RMSprop."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        torch.optim.RMSprop.__init__(self, params, lr, alpha, eps, weight_decay, momentum, centered)


only_names_of_target(__name__)
