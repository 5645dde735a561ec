"""labkit.operator("attention"): attention in one launch, for prompts and for decoding.

    ops = labkit.operator("attention")
    ops.load()                                   # builds and registers both operators, about 5 s each the first time

    out = torch.ops.lab.paged_attention(q, key_cache, value_cache, block_table, lengths, scale=None)
    out = torch.ops.lab.attention(q, k, v, mask=None, causal=False, scale=None)

lab::paged_attention(Tensor q, Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor lengths,
                     float? scale=None) -> Tensor
    One query for each sequence, its keys and values in a paged cache.
    q             [batch, heads, head_dim], float16 or bfloat16
    key_cache     [pages, page_size, kv_heads, head_dim], contiguous; any page_size; heads is a multiple of kv_heads
    value_cache   the same
    block_table   [batch, max_pages] int32, on the same device: the pages of each sequence, in order; what stands behind
                  its last page is not read
    lengths       [batch] int32, on the same device: keys of each sequence, the one of this step among them
    scale         1 / sqrt(head_dim) where it is None
    out           [batch, heads, head_dim], of q's type
    A sequence of length 0 gives zeros. head_dim: multiples of 16 up to 256. Nothing comes back to the host, so that a
    graph of launches can be replayed while lengths and block_table change in place.

lab::attention(Tensor q, Tensor k, Tensor v, Tensor? mask=None, bool causal=False, float? scale=None) -> Tensor
    Many queries, for prompts: softmax(q k^T * scale + mask) v.
    q             [batch, heads, rows, head_dim], float16 or bfloat16; rows may lie apart (views of a projection)
    k, v          [batch, kv_heads, keys, head_dim]; heads is a multiple of kv_heads
    mask          [batch or 1, heads or 1, rows or 1, keys]: bool, True where a query sees a key, or of q's type, added
    causal        row r sees keys 0..r, as in scaled_dot_product_attention; not together with a mask
    out           like q, strides included. A row that sees no key gives zeros. head_dim: multiples of 16 up to 128.

Both have no backward and say so where a gradient is wanted. attention() and paged_attention() below take the operator
where it fits and PyTorch's own operators where not (another device, float32).
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

import labkit

SOURCES = {
    "attention": "kernels/attention/attention_torch.asc",
    "paged_attention": "kernels/attention/paged_attention_torch.asc",
}
TYPES = (torch.float16, torch.bfloat16)


def load(*names: str) -> None:
    """Builds and registers the operators, by default all. Raises what labkit.register does."""
    for op in names or SOURCES:
        try:
            if torch._C._dispatch_has_kernel_for_dispatch_key(f"lab::{op}", "PrivateUse1"):
                continue
        except RuntimeError:  # nobody has defined it yet
            pass
        labkit.register(SOURCES[op])


def attention(q, k, v, mask=None, causal: bool = False, scale: float | None = None) -> torch.Tensor:
    """The operator on npu in float16 and bfloat16, else scaled_dot_product_attention."""
    if q.device.type == "npu" and q.dtype in TYPES:
        load("attention")
        return torch.ops.lab.attention(q, k, v, mask, causal, scale)
    groups = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(groups, 1) for t in (k, v))
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)


def paged_attention(q, key_cache, value_cache, block_table, lengths, scale: float | None = None) -> torch.Tensor:
    """The operator on npu in float16 and bfloat16, else gathered(...) of the same arguments."""
    if q.device.type == "npu" and q.dtype in TYPES:
        load("paged_attention")
        return torch.ops.lab.paged_attention(q, key_cache, value_cache, block_table, lengths, scale)
    return gathered(q, key_cache, value_cache, block_table, lengths, scale)


def gathered(q, key_cache, value_cache, block_table, lengths, scale: float | None = None) -> torch.Tensor:
    """The same with PyTorch's operators: the pages gathered into one tensor, then masked attention over all of it."""
    groups = q.shape[1] // key_cache.shape[2]
    keys, values = (
        cache[block_table.long().clamp_min(0)].flatten(1, 2).transpose(1, 2).repeat_interleave(groups, 1)
        for cache in (key_cache, value_cache)
    )
    scores = (q.unsqueeze(2) @ keys.transpose(-1, -2)).float() * (q.shape[-1] ** -0.5 if scale is None else scale)
    seen = torch.arange(keys.shape[2], device=q.device) < lengths[:, None]
    scores = scores.masked_fill(~seen[:, None, None], float("-inf"))
    shares = torch.softmax(scores, -1).nan_to_num(0.0)  # a sequence without keys
    return (shares.to(values.dtype) @ values).squeeze(2)
