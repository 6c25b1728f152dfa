"""Operators that don't run on an NPU under the name under which a run elsewhere shows them.

Read from torch 2.13.0 (native_functions.yaml and ATen/native) and from the lists of operators in torch_npu's
wheels: torch chooses by device which operator does the work of ``lstm`` or of an attention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_ATTENTION = "scaled_dot_product_attention"
_INSTEAD: Mapping[str, str] = {
    # The CPU's, CUDA's, ROCm's -> the one whose kernel an NPU takes in its place.
    **dict.fromkeys(("mkldnn_rnn_layer", "_cudnn_rnn", "_cudnn_rnn_flatten_weight", "miopen_rnn"), "lstm"),
    "_thnn_fused_lstm_cell": "lstm_cell",
    "_thnn_fused_lstm_cell_backward_impl": "lstm_cell",
    **dict.fromkeys(("_flash_attention_forward", "_efficient_attention_forward"), _ATTENTION),
    **dict.fromkeys(("_flash_attention_backward", "_efficient_attention_backward"), _ATTENTION),
    **dict.fromkeys(("mkldnn_convolution", "cudnn_convolution", "miopen_convolution"), "convolution"),
    **dict.fromkeys(("cudnn_convolution_transpose", "miopen_convolution_transpose"), "convolution"),
    **dict.fromkeys(("_slow_conv2d_forward", "slow_conv3d_forward", "conv_depthwise3d"), "convolution"),
    **dict.fromkeys(("miopen_depthwise_convolution", "_conv_depthwise2d"), "convolution"),
    "_slow_conv2d_backward": "convolution_backward",
    **dict.fromkeys(
        ("cudnn_batch_norm", "miopen_batch_norm", "_batch_norm_with_update"), "native_batch_norm"
    ),
    **dict.fromkeys(("cudnn_batch_norm_backward", "batch_norm_backward"), "native_batch_norm_backward"),
    "miopen_batch_norm_backward": "native_batch_norm_backward",
    **dict.fromkeys(("_cudnn_ctc_loss", "miopen_ctc_loss", "_use_cudnn_ctc_loss"), "_ctc_loss"),
    **dict.fromkeys(("cudnn_grid_sampler", "_grid_sampler_2d_cpu_fallback"), "grid_sampler_2d"),
    "cudnn_grid_sampler_backward": "grid_sampler_2d_backward",
    "_grid_sampler_2d_cpu_fallback_backward": "grid_sampler_2d_backward",
    "cudnn_affine_grid_generator": "affine_grid_generator",
    "_fused_dropout": "native_dropout",
    "_weight_norm_interface": "_weight_norm",
    "_weight_norm_interface_backward": "_weight_norm",
}
_FUSED_ATTENTION = re.compile(r"_scaled_dot_product_\w*attention\w*?(?<!math)")

# Composed of others by torch, of which at least this one may be without a kernel.
_PARTS: Mapping[str, str] = {
    "_fused_adagrad": "_fused_adagrad_",
    "cauchy": "cauchy_",
    "cholesky_solve": "_cholesky_solve_helper",
    "copysign_": "copysign",
    "exponential": "exponential_",
    "geometric": "geometric_",
    "kaiser_window": "i0",
    "log_normal": "log_normal_",
    "logcumsumexp": "_logcumsumexp",
    "mvlgamma": "lgamma",
    "mvlgamma_": "lgamma",
    "polygamma_": "polygamma",
    # These are composed of the overload of their own name that writes into a given tensor.
    **{name: name for name in ("copysign", "frexp", "huber_loss_backward", "linalg_lstsq", "mode")},
}
_EACH = "_foreach_"  # of a list, one by one


def in_place_of(name: str) -> str:
    """Return the operator that an NPU takes for ``name``, both without namespace; "" if it is the same."""
    if _FUSED_ATTENTION.fullmatch(name):
        return _ATTENTION
    return _INSTEAD.get(name, "") or _INSTEAD.get(name.replace("_backward", ""), "")


def parts(name: str) -> Iterator[str]:
    """Yield the operators in a composite one that may be without a kernel."""
    if name in _PARTS:
        yield _PARTS[name]
    elif name.startswith("special_"):
        yield name
    elif name.startswith(_EACH):
        single = name[len(_EACH) :].rstrip("_")
        if single in ("lgamma", "digamma"):
            yield single


# torch.nn.functional.interpolate(mode=…) -> its operators, as upsample_bilinear2d.
RESIZING: Mapping[str, tuple[str, ...]] = {
    "linear": ("upsample_linear1d",),
    "bilinear": ("upsample_bilinear2d",),
    "bicubic": ("upsample_bicubic2d",),
    "trilinear": ("upsample_trilinear3d",),
    "nearest-exact": tuple(f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)),
    "lanczos": ("_upsample_lanczos2d_aa",),
}
ANTIALIASED = ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
GRID_SAMPLERS = ("grid_sampler_2d", "grid_sampler_3d")
