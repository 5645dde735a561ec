"""torch_npu.npu_fusion_attention, which transformers imports where there is a torch_npu: softmax(scale * q k^T) v.

Here it is made of PyTorch's operators, in fp32 and rounded once, with their gradients; its modelled time is that of the
parts, not of the one fused kernel of the card. Argument names and layouts are those of torch_npu 2.13.
"""

from __future__ import annotations

import torch

from labkit import messages

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
# sparse_mode: the mask as given (0, 1), causal from the top left (2), from the bottom right (3), a band (4)
MODES = (0, 1, 2, 3, 4)
_COPIES = 8  # softmax_max and softmax_sum hold each number that often: a block of 32 bytes


def npu_fusion_attention(
    query,
    key,
    value,
    head_num,
    input_layout,
    *,
    pse=None,
    padding_mask=None,
    atten_mask=None,
    scale=1.0,
    keep_prob=1.0,
    pre_tockens=2147483647,
    next_tockens=2147483647,
    inner_precise=0,
    prefix=None,
    actual_seq_qlen=None,
    actual_seq_kvlen=None,
    sparse_mode=0,
    gen_mask_parallel=True,
    sync=False,
):
    """(result, maxima and sums of the softmax, an empty tensor, seed, offset,
    number of elements of the dropout's mask: 0).

    atten_mask: True where a pair is left out. Raises ValueError (layout), NotImplementedError (other sparse modes).
    """
    if input_layout not in LAYOUTS:
        raise ValueError(messages.text("device.attention.layout", layout=input_layout, known=", ".join(LAYOUTS)))
    if sparse_mode not in MODES or prefix is not None or padding_mask is not None:
        raise NotImplementedError(
            messages.text("device.attention.mode", mode=sparse_mode, known=", ".join(map(str, MODES)))
        )
    how = (pse, atten_mask, scale, keep_prob, pre_tockens, next_tockens, sparse_mode)
    if input_layout == "TND":
        parts, begins = [], (0, 0)
        for ends in zip(actual_seq_qlen, actual_seq_kvlen):
            q, k, v = (t[begins[i] : ends[i]].transpose(0, 1)[None] for t, i in ((query, 0), (key, 1), (value, 1)))
            out, *rest = _attend(q, k, v, *how)
            parts.append([t[0].transpose(0, 1) for t in (out, *rest)])
            begins = ends
        out, top, total = (torch.cat(kind) for kind in zip(*parts))
    else:
        out, top, total = _attend(
            *(_heads(t, input_layout, query.shape[-1] // head_num) for t in (query, key, value)), *how
        )
        out = {
            "BNSD": lambda: out,
            "BSND": lambda: out.transpose(1, 2),
            "BSH": lambda: out.transpose(1, 2).flatten(2),
            "SBH": lambda: out.permute(2, 0, 1, 3).flatten(2),
        }[input_layout]()
    return out.to(query.dtype).contiguous(), top, total, query.new_empty(0), 0, 0, 0


def _heads(t, layout: str, depth: int):
    """The tensor as [batch, heads, sequence, depth]."""
    if layout == "BNSD":
        return t
    if layout in ("BSH", "SBH"):
        t = t.unflatten(-1, (-1, depth))
    return t.permute(1, 2, 0, 3) if layout == "SBH" else t.transpose(1, 2)


def _attend(q, k, v, pse, mask, scale, keep, before, after, mode):
    """On [batch, heads, sequence, depth]; k and v may have fewer heads (grouped queries)."""
    groups = q.shape[1] // k.shape[1]
    k, v = (t.float().repeat_interleave(groups, 1) if groups > 1 else t.float() for t in (k, v))
    scores = q.float() @ k.transpose(-1, -2)
    scores = (scores if pse is None else scores + pse.float()) * scale
    rows, columns = scores.shape[-2:]
    if mode >= 2:
        i, j = torch.arange(rows, device=q.device)[:, None], torch.arange(columns, device=q.device)
        shift = 0 if mode == 2 else columns - rows
        mask = j > i + shift if mode < 4 else (j > i + shift + after) | (j < i + shift - before)
    if mask is not None:
        scores = scores.masked_fill(mask.bool(), float("-inf"))
    # a row that is all masked gives zeros
    top = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(torch.float32).min)
    exponents = torch.exp(scores - top)
    total = exponents.sum(-1, keepdim=True)
    shares = exponents / total.clamp_min(torch.finfo(torch.float32).tiny)
    out = torch.nn.functional.dropout(shares, 1 - keep) @ v
    return out, *(t.detach().expand(*t.shape[:-1], _COPIES) for t in (top, total))
