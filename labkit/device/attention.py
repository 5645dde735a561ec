"""Parts of a model that are one operator on the card: npu_fusion_attention and its relatives for inference,
softmax(scale * q k^T) v in fp32 and rounded once; and the LSTM and GRU cells, which PyTorch sends to operators that the
CPU does not have (made of elementwise ones here).

Argument names and layouts are those of torch_npu 2.13.
"""

from __future__ import annotations

import torch

from labkit import messages
from labkit.device.fused import defines

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
# sparse_mode: the mask as given (0, 1), causal from the top left (2), from the bottom right (3), a band (4), causal
# from the bottom right behind a prefix that all see (5, 6)
MODES = (0, 1, 2, 3, 4, 5, 6)
_COPIES = 8  # softmax_max and softmax_sum hold each number that often: a block of 32 bytes
_FAR = 2147483647

_TRAINING = (
    "(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1., "
    "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, "
    "int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, "
    "bool sync=False, str softmax_layout='', Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0) "
    "-> (Tensor, Tensor, Tensor, Tensor, int, int, int)"
)


@defines(f"npu_fusion_attention{_TRAINING}", True)
def _fusion_attention(
    query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, scale=1.0, keep_prob=1.0,
    pre_tockens=_FAR, next_tockens=_FAR, inner_precise=0, prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None,
    sparse_mode=0, gen_mask_parallel=True, sync=False, softmax_layout="", sink=None, dropout_mask=None, seed=0,
    offset=0):  # fmt: skip
    """(result, maxima and sums of the softmax, an empty tensor, seed, offset, number of the dropout mask's elements).

    atten_mask: True where a pair is left out. Raises ValueError (layout), NotImplementedError (other sparse modes),
    RuntimeError (a mask of another type).
    """
    _check(input_layout, LAYOUTS, sparse_mode, padding_mask is None and sink is None)
    _masks(atten_mask, "npu_fusion_attention", torch.bool, torch.uint8)
    draw = None
    if keep_prob < 1:
        draw = torch.Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + offset) % 2**63)
    how = (pse, atten_mask, scale, keep_prob, pre_tockens, next_tockens, sparse_mode)
    if input_layout == "TND":
        _ends("actual_seq_qlen and actual_seq_kvlen", actual_seq_qlen, actual_seq_kvlen)
        parts, begins = [], (0, 0)
        for n, ends in enumerate(zip(actual_seq_qlen, actual_seq_kvlen)):
            q, k, v = (t[begins[i] : ends[i]].transpose(0, 1)[None] for t, i in ((query, 0), (key, 1), (value, 1)))
            out, *rest = _attend(q, k, v, *how, prefix and prefix[n : n + 1], draw)
            parts.append([t[0].transpose(0, 1) for t in (out, *rest)])
            begins = ends
        out, top, total = (torch.cat(kind) for kind in zip(*parts))
    else:
        depth = query.shape[-1] // head_num if input_layout in ("BSH", "SBH") else query.shape[-1]
        out, top, total = _attend(*(_heads(t, input_layout, depth) for t in (query, key, value)), *how, prefix, draw)
        out = _back(out, input_layout)
    numbers = out.numel() if keep_prob < 1 else 0
    top, total = (t.detach().expand(*t.shape[:-1], _COPIES).contiguous() for t in (top, total))
    return out.to(query.dtype).contiguous(), top, total, query.new_empty(0), seed, offset, numbers


# What computes npu_fusion_attention in the place of the operator below, which it gets as its first argument: a kernel
# of one's own, labkit.operator("attention").install().
instead = None


def npu_fusion_attention(*args, **kwargs):
    """The operator of that name, or what stands in its place."""
    if instead is not None:
        return instead(_own_fusion_attention, *args, **kwargs)
    return _own_fusion_attention(*args, **kwargs)


def _own_fusion_attention(query, key, value, head_num, input_layout, *args, **kwargs):
    """Its dropout continues the device's random numbers."""
    if kwargs.get("keep_prob", args[4] if len(args) > 4 else 1.0) < 1 and not kwargs.get("seed"):
        generator = torch.npu.default_generators[query.get_device()]
        kwargs["seed"], kwargs["offset"] = generator.initial_seed() % 2**63, generator.get_offset()
        generator.set_offset(kwargs["offset"] + 4)
    return torch.ops.npu.npu_fusion_attention(query, key, value, head_num, input_layout, *args, **kwargs)


def npu_fusion_attention_v3(*args, **kwargs):
    """The same; seed and offset are tensors, and the lengths of sequences may be."""
    for name in ("actual_seq_qlen", "actual_seq_kvlen"):
        if isinstance(kwargs.get(name), torch.Tensor):
            kwargs[name] = kwargs[name].tolist()
    out, top, total, empty, seed, offset, _ = npu_fusion_attention(*args, **kwargs)
    return out, top, total, empty, torch.tensor(seed), torch.tensor(offset)


# ---- inference

_INFERENCE = ("BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_BNSD", "BSND_BNSD", "TND")


def _infer(query, key, value, heads, kv_heads, layout, scale, mask, pse, mode, before, after, q_lengths, kv_lengths,
           block_table=None, block_size=0):  # fmt: skip
    """(result, log of the softmax' sums). Lengths: of each batch's sequences, as far as they count; layout TND: where
    they end. block_table: the pages of keys and values that each batch's sequence is in."""
    _check(layout, _INFERENCE, mode, True)
    _masks(mask, "attention for inference", torch.bool, torch.int8, torch.uint8)
    into, _, out_of = layout.partition("_")
    out_of = out_of or into
    kv_heads = kv_heads or heads
    far = (pse, mask, scale, 1.0, before, after, mode, None, None)
    if into == "TND":
        return _infer_packed(query, key, value, q_lengths, kv_lengths, far)
    q = _heads(query, into, query.shape[-1] // heads if into == "BSH" else query.shape[-1])
    if block_table is not None:
        key, value = (_pages(t, block_table, block_size, kv_heads) for t in (key, value))
    else:
        depth = key.shape[-1] // kv_heads if into == "BSH" else key.shape[-1]
        key, value = (_heads(t, into, depth) for t in (key, value))
    if kv_lengths is None and q_lengths is None:
        out, top, total = _attend(q, key, value, *far)
        return _back(out, out_of).to(query.dtype).contiguous(), top + total.log()
    out = q.new_zeros(*q.shape[:3], value.shape[-1], dtype=torch.float32)
    sums = q.new_full((*q.shape[:3], 1), float("-inf"), dtype=torch.float32)
    for b in range(len(q)):
        rows = q.shape[2] if q_lengths is None else q_lengths[b if len(q_lengths) > 1 else 0]
        columns = key.shape[2] if kv_lengths is None else kv_lengths[b if len(kv_lengths) > 1 else 0]
        seen = mask if mask is None or mode >= 2 else _rows_of(mask, b, rows, columns)
        shift = None if pse is None else _rows_of(pse, b, rows, columns)
        one, top, total = _attend(q[b : b + 1, :, :rows], key[b : b + 1, :, :columns], value[b : b + 1, :, :columns],
                                  shift, seen, *far[2:])  # fmt: skip
        out[b, :, :rows], sums[b, :, :rows] = one[0], (top + total.log())[0]
    return _back(out, out_of).to(query.dtype).contiguous(), sums


def _infer_packed(query, key, value, q_ends, kv_ends, far):
    _ends("actual_seq_lengths and actual_seq_lengths_kv", q_ends, kv_ends)
    begins, parts, sums = (0, 0), [], []
    for ends in zip(q_ends, kv_ends):
        q, k, v = (t[begins[i] : ends[i]].transpose(0, 1)[None] for t, i in ((query, 0), (key, 1), (value, 1)))
        out, top, total = _attend(q, k, v, *far)
        parts.append(out[0].transpose(0, 1))
        sums.append((top + total.log())[0].transpose(0, 1))
        begins = ends
    return torch.cat(parts).to(query.dtype), torch.cat(sums)


def _rows_of(mask, b: int, rows: int, columns: int):
    """What a mask, or a position shift, has for one sequence of the batch."""
    while mask.dim() < 4:
        mask = mask.unsqueeze(0 if mask.dim() == 2 else 1)
    return mask[b if len(mask) > 1 else 0][None, :, : max(rows, 1), :columns]


def _pages(cache, table, block_size: int, heads: int):
    """[blocks, block, heads * depth] or [blocks, heads, block, depth] as [batch, heads, sequence, depth]."""
    chosen = cache[table.long().clamp_min(0)]
    if cache.dim() == 3:
        return chosen.flatten(1, 2).unflatten(-1, (heads, -1)).transpose(1, 2)
    return chosen.transpose(1, 2).flatten(2, 3)


@defines(
    "npu_prompt_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, "
    "Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None, "
    "Tensor? quant_scale1=None, Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, "
    "int num_heads=1, float scale_value=1.0, int pre_tokens=2147483647, int next_tokens=0, str input_layout='BSH', "
    "int num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0) -> Tensor"
)
def _prompt_flash_attention(query, key, value, *, atten_mask=None, pse_shift=None, actual_seq_lengths=None,
                            num_heads=1, scale_value=1.0, pre_tokens=_FAR, next_tokens=0, input_layout="BSH",
                            num_key_value_heads=0, actual_seq_lengths_kv=None, sparse_mode=0, **quantised):  # fmt: skip
    _plain(quantised)
    return _infer(query, key, value, num_heads, num_key_value_heads, input_layout, scale_value, atten_mask, pse_shift,
                  sparse_mode, pre_tokens, next_tokens, actual_seq_lengths, actual_seq_lengths_kv)[0]  # fmt: skip


@defines(
    "npu_incre_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, "
    "Tensor? atten_mask=None, Tensor? pse_shift=None, SymInt[]? actual_seq_lengths=None, "
    "Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? block_table=None, "
    "Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, "
    "Tensor? quant_offset2=None, Tensor? kv_padding_size=None, int num_heads=1, float scale_value=1.0, "
    "str input_layout='BSH', int num_key_value_heads=0, int block_size=0, int inner_precise=1) -> Tensor"
)
def _incre_flash_attention(query, key, value, *, atten_mask=None, pse_shift=None, actual_seq_lengths=None,
                           block_table=None, num_heads=1, scale_value=1.0, input_layout="BSH", num_key_value_heads=0,
                           block_size=0, inner_precise=1, **quantised):  # fmt: skip
    _plain(quantised)
    return _infer(query, key, value, num_heads, num_key_value_heads, input_layout, scale_value, atten_mask, pse_shift,
                  0, _FAR, _FAR, None, actual_seq_lengths, block_table, block_size)[0]  # fmt: skip


@defines(
    "npu_fused_infer_attention_score(Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, "
    "Tensor? atten_mask=None, SymInt[]? actual_seq_lengths=None, SymInt[]? actual_seq_lengths_kv=None, "
    "Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, "
    "Tensor? quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, "
    "Tensor? block_table=None, Tensor? query_padding_size=None, Tensor? kv_padding_size=None, "
    "int num_heads=1, float scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, "
    "str input_layout='BSH', int num_key_value_heads=0, int sparse_mode=0, int inner_precise=0, int block_size=0, "
    "int antiquant_mode=0, bool softmax_lse_flag=False) -> (Tensor, Tensor)"
)
def _fused_infer_attention_score(query, key, value, *, pse_shift=None, atten_mask=None, actual_seq_lengths=None,
                                 actual_seq_lengths_kv=None, block_table=None, num_heads=1, scale=1.0, pre_tokens=_FAR,
                                 next_tokens=_FAR, input_layout="BSH", num_key_value_heads=0, sparse_mode=0,
                                 inner_precise=0, block_size=0, antiquant_mode=0, softmax_lse_flag=False,
                                 **quantised):  # fmt: skip
    _plain(quantised)
    out, sums = _infer(query, key, value, num_heads, num_key_value_heads, input_layout, scale, atten_mask, pse_shift,
                       sparse_mode, pre_tokens, next_tokens, actual_seq_lengths, actual_seq_lengths_kv, block_table,
                       block_size)  # fmt: skip
    return out, sums if softmax_lse_flag else query.new_zeros(1, dtype=torch.float32)


# ---- common to all


def _check(layout: str, known: tuple, mode: int, supported: bool) -> None:
    if layout not in known:
        raise ValueError(messages.text("device.attention.layout", layout=layout, known=", ".join(known)))
    if mode not in MODES or not supported:
        raise NotImplementedError(messages.text("device.attention.mode", mode=mode, known=", ".join(map(str, MODES))))


def _masks(mask, who: str, *types) -> None:
    """A mask of another type is refused on a node: it hides pairs, and is not added as PyTorch's float masks are."""
    if mask is not None and mask.dtype not in types:
        known = ", ".join(str(t).removeprefix("torch.") for t in types)
        raise RuntimeError(messages.text("device.attention.mask", who=who, known=known, got=str(mask.dtype)[6:]))


def _ends(names: str, *ends) -> None:
    if any(e is None for e in ends):
        raise ValueError(messages.text("device.attention.ends", names=names))


def _plain(quantised: dict) -> None:
    given = [name for name, value in quantised.items() if value is not None]
    if given:
        raise NotImplementedError(messages.text("device.attention.quantised", names=", ".join(given)))


def _heads(t, layout: str, depth: int):
    """The tensor as [batch, heads, sequence, depth]."""
    if layout == "BNSD":
        return t
    if layout in ("BSH", "SBH"):
        t = t.unflatten(-1, (-1, depth))
    return t.permute(1, 2, 0, 3) if layout == "SBH" else t.transpose(1, 2)


def _back(out, layout: str):
    return {
        "BNSD": lambda: out,
        "BSND": lambda: out.transpose(1, 2),
        "BSH": lambda: out.transpose(1, 2).flatten(2),
        "SBH": lambda: out.permute(2, 0, 1, 3).flatten(2),
    }[layout]()


def _attend(q, k, v, pse, mask, scale, keep, before, after, mode, prefix, draw):
    """On [batch, heads, sequence, depth]; k and v may have fewer heads (grouped queries). (result, maxima, sums)."""
    groups = q.shape[1] // k.shape[1]
    k, v = (t.float().repeat_interleave(groups, 1) if groups > 1 else t.float() for t in (k, v))
    scores = q.float() @ k.transpose(-1, -2)
    scores = (scores if pse is None else scores + pse.float()) * scale
    rows, columns = scores.shape[-2:]
    i, j = torch.arange(rows, device=q.device)[:, None], torch.arange(columns, device=q.device)
    if mode >= 2:
        shift = 0 if mode == 2 else columns - rows
        mask = (j > i + shift + after) | (j < i + shift - before) if mode == 4 else j > i + shift
        if mode >= 5:
            first = torch.tensor(prefix or [0], device=q.device).view(-1, 1, 1, 1)
            mask = mask & (j >= first)
    elif mask is not None and mode == 0 and (before < rows or after < columns):
        mask = mask.bool() | (j > i + after) | (j < i - before)
    if mask is not None:
        scores = scores.masked_fill(mask.bool(), float("-inf"))
    # a row that is all masked, or has no keys at all, gives zeros
    low = torch.finfo(torch.float32).min
    top = scores.detach().amax(-1, keepdim=True) if columns else scores.new_full((*scores.shape[:-1], 1), low)
    top = top.clamp_min(low)
    exponents = torch.exp(scores - top)
    total = exponents.sum(-1, keepdim=True)
    shares = exponents / total.clamp_min(torch.finfo(torch.float32).tiny)
    if draw is not None:
        shares = shares * torch.empty_like(shares).bernoulli_(keep, generator=draw) / (keep or 1.0)  # 0 keeps nothing
    return shares @ v, top, total


# ---- cells of recurrent networks

_keep: list[torch.library.Library] = []


def register() -> None:
    library = torch.library.Library("aten", "IMPL")
    for name, function in (
        ("_thnn_fused_lstm_cell", _lstm),
        ("_thnn_fused_lstm_cell_backward_impl", _lstm_backward),
        ("_thnn_fused_gru_cell", _gru),
        ("_thnn_fused_gru_cell_backward", _gru_backward),
    ):
        library.impl(name, function, "PrivateUse1")
    _keep.append(library)


def _plus(a, bias):
    return a if bias is None else a + bias


def _lstm(from_input, from_hidden, cell, input_bias=None, hidden_bias=None):
    gates = _plus(_plus(from_input + from_hidden, input_bias), hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, g, o], 1)


def _lstm_backward(grad_hidden, grad_cell, cell, new_cell, workspace, has_bias):
    i, f, g, o = workspace.chunk(4, 1)
    t = new_cell.tanh()
    grad_hidden = torch.zeros_like(cell) if grad_hidden is None else grad_hidden
    grad = grad_hidden * o * (1 - t * t)
    grad = grad if grad_cell is None else grad + grad_cell
    gates = torch.cat(
        [grad * g * i * (1 - i), grad * cell * f * (1 - f), grad * i * (1 - g * g), grad_hidden * t * o * (1 - o)], 1
    )
    return gates, grad * f, gates.sum(0) if has_bias else None


def _gru(from_input, from_hidden, hidden, input_bias=None, hidden_bias=None):
    input_r, input_z, input_n = _plus(from_input, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _plus(from_hidden, hidden_bias).chunk(3, 1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hidden - n), torch.cat([r, z, n, hidden, hidden_n], 1)


def _gru_backward(grad, workspace, has_bias):
    r, z, n, hidden, hidden_n = workspace.chunk(5, 1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_z = grad * (hidden - n) * z * (1 - z)
    grad_r = grad_n * hidden_n * r * (1 - r)
    to_input, to_hidden = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (to_input.sum(0), to_hidden.sum(0)) if has_bias else (None, None)
    return to_input, to_hidden, grad * z, *biases
