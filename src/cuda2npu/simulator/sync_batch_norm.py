"""nn.SyncBatchNorm without CUDA; torch's own function calls kernels of CUDA's. torch_npu replaces it as well.

The simulated NPU and the CPU in place of CUDA take the same one, so that the two compute the same.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist


class SyncBatchNorm(torch.autograd.Function):
    """Batch norm with the mean and variance of all processes, in float32."""

    @staticmethod
    def forward(
        ctx: Any,
        input: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        running_mean: torch.Tensor | None,
        running_var: torch.Tensor | None,
        eps: float,
        momentum: float,
        process_group: Any,
        world_size: int,
    ) -> torch.Tensor:
        """Return the normed ``input``, and update the running values."""
        dims = [dim for dim in range(input.dim()) if dim != 1]
        wide = input.float()
        count = torch.full((1,), float(wide.numel() // wide.size(1)), device=input.device)
        sums = torch.cat((wide.sum(dims), wide.pow(2).sum(dims), count))
        dist.all_reduce(sums, group=process_group)
        total = sums[-1]
        mean, mean_of_squares = (sums[:-1] / total).chunk(2)
        var = (mean_of_squares - mean.pow(2)).clamp_(min=0)
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            unbiased = var * total / (total - 1).clamp_(min=1)
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
        invstd = torch.rsqrt(var + eps)
        normed = (wide - _along(mean, wide)) * _along(invstd, wide)
        ctx.save_for_backward(normed, weight, invstd, total)
        ctx.process_group, ctx.dims, ctx.dtype = process_group, dims, input.dtype
        out = normed if weight is None else normed * _along(weight.float(), wide)
        return (out if bias is None else out + _along(bias.float(), wide)).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of the input, of this process's weight and of its bias."""
        normed, weight, invstd, total = ctx.saved_tensors
        grad = grad_output.float()
        grad_bias, grad_weight = grad.sum(ctx.dims), (grad * normed).sum(ctx.dims)
        sums = torch.cat((grad_bias, grad_weight))
        dist.all_reduce(sums, group=ctx.process_group)
        mean, mean_normed = (sums / total).chunk(2)
        scale = invstd if weight is None else invstd * weight.float()
        grad_input = (grad - _along(mean, grad) - normed * _along(mean_normed, grad)) * _along(scale, grad)
        of_weight = None if weight is None else grad_weight.to(weight.dtype)
        of_bias = None if weight is None else grad_bias.to(weight.dtype)
        return grad_input.to(ctx.dtype), of_weight, of_bias, None, None, None, None, None, None


def _along(per_channel: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return per_channel.view(1, -1, *[1] * (like.dim() - 2))


def apply() -> None:
    """Put it into torch."""
    torch.nn.modules.batchnorm.sync_batch_norm = SyncBatchNorm
