"""``torch_npu.npu_fusion_attention``, computed step by step."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_EVERY = 2147483647  # pre_tockens and next_tockens by default: no limit


def npu_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _EVERY,
    next_tockens: int = _EVERY,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int, int, int]:
    """Return attention in the layout of ``query``, and what the backward pass of the NPU would keep.

    The mask is the inverse of the one in scaled_dot_product_attention: true is masked out. There is no
    default scale but 1, and ``keep_prob`` is 1 - dropout.

    :param input_layout: BSH, SBH, BSND or BNSD.
    :param sparse_mode: 0 takes the mask as it is, 1 too; 2 is causal from the upper left corner, 3 from
        the lower right, both with a 2048 × 2048 mask of ones above the diagonal.
    :raises NotImplementedError: for layout TND, ``pse``, prefixes and other sparse modes.
    """
    if input_layout not in ("BSH", "SBH", "BSND", "BNSD") or pse is not None or prefix is not None:
        raise NotImplementedError(
            "the simulated torch_npu.npu_fusion_attention knows the layouts BSH, SBH, BSND and BNSD, "
            "without pse and prefix"
        )
    q = _to_heads(query, head_num, input_layout)
    k, v = (_to_heads(t, t.shape[-1] * head_num // query.shape[-1], input_layout) for t in (key, value))
    groups = head_num // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = torch.matmul(q, k.transpose(-1, -2)).float() * scale
    masked = _masked_out(atten_mask, scores, sparse_mode, pre_tockens, next_tockens)
    if masked is not None:
        scores = scores.masked_fill(masked, torch.finfo(torch.float32).min)
    largest = scores.amax(-1, keepdim=True)
    weights = torch.softmax(scores, -1)
    total = torch.exp(scores - largest).sum(-1, keepdim=True)
    if keep_prob < 1:
        weights = torch.dropout(weights, 1 - keep_prob, True)
    out = _from_heads(torch.matmul(weights.to(v.dtype), v), input_layout)
    kept = [t.detach().expand(*t.shape[:-1], 8).contiguous() for t in (largest, total)]
    return out, kept[0], kept[1], torch.empty(0, device=query.device), 0, 0, 0


def _to_heads(tensor: torch.Tensor, heads: int, layout: str) -> torch.Tensor:
    """Return ``tensor`` as batch, head, position, feature."""
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    if layout == "SBH":
        tensor = tensor.transpose(0, 1)
    return tensor.unflatten(-1, (heads, -1)).transpose(1, 2)


def _from_heads(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "BNSD":
        return tensor
    tensor = tensor.transpose(1, 2)
    if layout == "BSND":
        return tensor.contiguous()
    tensor = tensor.flatten(2)
    return tensor.transpose(0, 1).contiguous() if layout == "SBH" else tensor


def _masked_out(
    mask: torch.Tensor | None, scores: torch.Tensor, mode: int, before: int, after: int
) -> torch.Tensor | None:
    """Return where attention is forbidden; None if nowhere."""
    if mode not in (0, 1, 2, 3):
        raise NotImplementedError(f"the simulated torch_npu.npu_fusion_attention lacks sparse_mode={mode}")
    if mask is None:
        return None
    rows, columns = scores.shape[-2:]
    if mode in (2, 3):
        diagonal = 1 if mode == 2 else columns - rows + 1
        return torch.ones(rows, columns, dtype=torch.bool, device=scores.device).triu(diagonal)
    by_mask = mask.bool()
    if mode == 1 or (before >= rows and after >= columns):
        return by_mask
    offsets = torch.arange(columns, device=scores.device) - torch.arange(rows, device=scores.device)[:, None]
    return by_mask | (offsets > after) | (-offsets > before)
