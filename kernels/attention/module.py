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

lab::attention has a backward, lab::attention_backward: two launches, one for dq and one for dk and dv, which make the
shares again from a log-sum-exp a row that the forward pass (lab::attention_forward) keeps. Deterministic; no gradient
of the mask, no second derivative. lab::paged_attention has none and says so. attention() and paged_attention() below
take the operator where it fits and PyTorch's own operators where not (another device, float32).

install() sends F.scaled_dot_product_attention and torch_npu.npu_fusion_attention of the simulated device to
lab::attention where it fits, so that they compute and cost what these kernels do; uninstall() takes that back.
"""

from __future__ import annotations

import functools

import torch
from torch.nn import functional as F

import labkit

SOURCES = {
    "attention": "kernels/attention/attention_torch.asc",
    "attention_backward": "kernels/attention/attention_grad_torch.asc",
    "paged_attention": "kernels/attention/paged_attention_torch.asc",
}
TYPES = (torch.float16, torch.bfloat16)


def load(*names: str) -> None:
    """Builds and registers the operators, by default all; attention with its backward. Raises what labkit.register
    does."""
    wanted = [*(names or SOURCES), *(["attention_backward"] if "attention" in names else [])]
    for op in dict.fromkeys(wanted):
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


# ---- in the place of PyTorch's and torch_npu's own operators

FUSED = "aten::_scaled_dot_product_fused_attention_overrideable"
MOST_DIM, FIGURES = 128, 8  # numbers of a head; npu_fusion_attention gives each maximum and sum that often
_installed: dict = {}


def _fits(q, k, v, dropout=0.0) -> bool:
    return (
        dropout == 0
        and q.dtype in TYPES
        and k.dtype == v.dtype == q.dtype
        and q.dim() == k.dim() == 4
        and k.shape == v.shape
        and q.shape[-1] == k.shape[-1]
        and q.shape[-1] % 16 == 0
        and 0 < q.shape[-1] <= MOST_DIM
        and q.shape[0] == k.shape[0]
        and k.shape[1] > 0
        and q.shape[1] % k.shape[1] == 0
    )


def _whole(mask, q):
    """The mask with four axes."""
    return mask if mask is None or mask.dim() == 4 else mask[(None,) * (4 - mask.dim())]


def _maskable(mask, q, k, causal) -> bool:
    if mask is None:
        return True
    sizes = (*q.shape[:3], k.shape[2])
    whole = _whole(mask, q)
    fits = mask.dim() <= 4 and all(n in (1, most) for n, most in zip(whole.shape, sizes))
    return fits and not causal and mask.dtype in (torch.bool, q.dtype)


class _Attention(torch.autograd.Function):
    """(result, log-sum-exp) with lab::attention_backward as its backward."""

    @staticmethod
    def forward(ctx, q, k, v, mask, causal, scale):
        out, sums = torch.ops.lab.attention_forward(q, k, v, mask, causal, scale)
        ctx.save_for_backward(q, k, v, out, sums, mask)
        ctx.how = causal, scale
        ctx.mark_non_differentiable(sums)
        return out, sums

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad, _):
        q, k, v, out, sums, mask = ctx.saved_tensors
        return *torch.ops.lab.attention_backward(grad, q, k, v, out, sums, mask, *ctx.how), None, None, None


def _sdpa(own, keys, q, k, v, bias=None, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    if not _fits(q, k, v, dropout_p) or not _maskable(bias, q, k, is_causal):
        return own.call_boxed(keys, q, k, v, bias, dropout_p, is_causal, return_debug_mask, scale=scale)
    out, sums = torch.ops.lab.attention_forward(q, k, v, _whole(bias, q), is_causal, scale)
    nothing, seed = torch.Tensor(), torch.zeros((), dtype=torch.long)
    return out, sums, nothing, nothing, q.shape[2], k.shape[2], seed, seed.clone(), nothing


def _sdpa_backward(own, keys, grad, q, k, v, bias, wanted, out, sums, *rest, scale=None):
    (*_, dropout, causal, _seed, _offset) = rest
    if not _fits(q, k, v, dropout) or not _maskable(bias, q, k, causal) or wanted[3]:
        return own.call_boxed(keys, grad, q, k, v, bias, wanted, out, sums, *rest, scale=scale)
    made = torch.ops.lab.attention_backward(grad, q, k, v, out, sums, _whole(bias, q), causal, scale)
    return *(t if want else None for t, want in zip(made, wanted)), None


def _fusion_attention(own, query, key, value, head_num, input_layout, *args, **kwargs):
    """npu_fusion_attention: every layout but TND, sparse modes 0 to 2, with a mask or without; else its own way."""
    from labkit.device import attention as device

    names = ("pse", "padding_mask", "atten_mask", "scale", "keep_prob", "pre_tockens", "next_tockens")
    given = {**dict(zip(names, args)), **kwargs}
    plain = len(args) <= len(names) and set(given) <= {*names, "inner_precise", "sparse_mode", "sync"}
    plain = plain and given.get("pse") is None and given.get("padding_mask") is None
    plain = plain and input_layout in ("BSH", "SBH", "BSND", "BNSD") and given.get("sparse_mode", 0) in (0, 1, 2)
    whole = 2147483647  # tokens before and after: all
    plain = plain and given.get("pre_tockens", whole) == given.get("next_tockens", whole) == whole
    if plain:
        depth = query.shape[-1] // head_num if input_layout in ("BSH", "SBH") else query.shape[-1]
        q, k, v = (device._heads(t, input_layout, depth) for t in (query, key, value))
        causal, mask = given.get("sparse_mode", 0) == 2, given.get("atten_mask")
        mask = None if causal or mask is None else mask.bool()
        if _fits(q, k, v, 1 - given.get("keep_prob", 1.0)) and _maskable(mask, q, k, causal):
            seen = None if mask is None else ~_whole(mask, q)  # there True is left out
            out, sums = _Attention.apply(q, k, v, seen, causal, given.get("scale", 1.0))
            # maximum and sum of a row belong together: exp(score - maximum) / sum are its shares
            most = sums.unsqueeze(-1).expand(*sums.shape, FIGURES)
            total = torch.ones_like(sums[:1, :1, :1]).expand(sums.shape).unsqueeze(-1).expand_as(most)
            return device._back(out, input_layout), most, total, query.new_empty(0), 0, 0, 0
    return own(query, key, value, head_num, input_layout, *args, **kwargs)


def install() -> None:
    """From here on F.scaled_dot_product_attention and torch_npu.npu_fusion_attention of the simulated device are
    lab::attention, forward and backward, where it fits: float16 and bfloat16, head_dim a multiple of 16 up to 128, no
    dropout; of the first bool masks or is_causal (other masks torch_npu computes by parts, and so does this). Anything
    else is computed as before. What npu_fusion_attention gives as maximum of a row is then its log-sum-exp, as sum 1.

    Raises RuntimeError where there is no simulated device."""
    import labkit.device
    from labkit.device import attention as device

    if _installed:
        return
    if labkit.device.mode() != "sim":
        raise RuntimeError("install() is for the simulated device; on a card torch_npu has kernels of its own.")
    load("attention")
    library = torch.library.Library("aten", "IMPL")
    for name, ours in ((FUSED, _sdpa), (f"{FUSED}_backward", _sdpa_backward)):
        own = torch.library.get_kernel(name, "PrivateUse1")
        library.impl(name, functools.partial(ours, own), "PrivateUse1", with_keyset=True, allow_override=True)
    _installed["library"] = library
    device.instead = _fusion_attention


def uninstall() -> None:
    """Takes install() back."""
    from labkit.device import attention as device

    if _installed:
        device.instead = None
        _installed.pop("library")._destroy()
        _installed.clear()
