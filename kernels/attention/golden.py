"""Attention in double, rounded once, and launches of the kernels by themselves."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import torch

import labkit

HERE = Path(__file__).parent
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t"}
CUBES, VECTORS = 24, 48
LANES, MOST_GROUP, MOST_NUMBERS = 64, 16, 2048  # as in paged_attention.asc


def attention(q, k, v, mask=None, causal=False, scale=None):
    """softmax(q k^T * scale + mask) v in double, on [batch, heads, rows, dim]; k and v may have fewer heads.

    mask: bool, True where a query sees a key, or numbers that are added. A row that sees no key gives zeros.
    """
    groups = q.shape[1] // k.shape[1]
    q, k, v = q.double(), *(t.double().repeat_interleave(groups, 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask.double()
    return torch.softmax(scores, -1).nan_to_num(0.0) @ v  # nan: softmax of a row of -inf


def terms(q, k, v, mask=None, causal=False, scale=None):
    """For each element how large the terms of its sum are: what the shares' rounding to 16 bits is measured against."""
    return attention(q, k, v.abs(), mask, causal, scale)


def gathered(cache, table, length: int):
    """[heads, length, dim] of one sequence, out of its pages."""
    return cache[table.long().clamp_min(0)].flatten(0, 1)[:length].transpose(0, 1)


def paged_attention(q, key_cache, value_cache, block_table, lengths, scale=None):
    """One query for each sequence, q [batch, heads, dim], in double."""
    rows = []
    for one, table, length in zip(q, block_table, lengths.tolist()):
        k, v = (gathered(cache, table, length)[None] for cache in (key_cache, value_cache))
        rows.append(attention(one[None, :, None], k, v, scale=scale)[0, :, 0])
    return torch.stack(rows) if rows else q.double()


@lru_cache(maxsize=None)
def kernel(file: str, entry: str, **how):
    return labkit.kernel(HERE / file, entry=entry, **{"timeout": 120, **how})


def group_of(heads: int, kv_heads: int, dim: int) -> int:
    """Query heads of a unit, as the adapter chooses them."""
    all_, pitch = heads // kv_heads, -(-dim // LANES) * LANES
    return max(g for g in range(1, MOST_GROUP + 1) if all_ % g == 0 and g * pitch <= MOST_NUMBERS)


def launch_paged(q, key_cache, value_cache, block_table, lengths, scale=None, blocks=VECTORS, group=None, made=None,
                 **how):  # fmt: skip
    """(record, out) of the kernel alone, on the device's tensors. made: a kernel to take instead."""
    (batch, heads, dim), (_, page, kv_heads, _) = q.shape, key_cache.shape
    k = made or kernel("paged_attention.asc", f"paged_attention<{CTYPE[q.dtype]}>", **how)
    group = group or group_of(heads, kv_heads, dim)
    paged = k.struct(
        "Paged", batch=batch, heads=heads, kvHeads=kv_heads, dim=dim, pageSize=page, maxPages=block_table.shape[1],
        group=group, scale=dim**-0.5 if scale is None else scale)  # fmt: skip
    out = torch.full(q.shape, -1216.0, dtype=q.dtype).npu()
    pitch = -(-dim // LANES) * LANES
    partial = torch.empty(blocks * (group * pitch + 2 * MOST_GROUP), dtype=torch.float32).npu()
    return k[blocks](q, key_cache, value_cache, block_table, lengths, out, partial, paged), out


WIDE, TALL = 512, 128  # as in attention.asc


def workspace_floats(blocks: int, wide: int, dim: int) -> int:
    return blocks * TALL * (3 * wide + 3 * (wide // 2) + 3 * -(-dim // LANES) * LANES)


SHORT, TURN, SIDE, ROOM, LATER = 256, 6, 16, 184 * 1024, 50  # as in attention_short.h and attention_short_torch.h


def steps_of(rows: int, keys: int, masked: int, across: bool) -> tuple[int, int]:
    """(rows of a step, steps of a head where they are dealt out one by one, else 0) of the kernel whose keys fit one
    block: as much as the buffers of two vector cores take, in equal parts. across: all heads have one mask."""
    columns = -(-keys // SIDE)

    def fits(high):
        tall, line = -(-high // 2), 0 if not masked else -(-keys * masked // 32) * 32
        room = (columns * (tall | 1) + 8) * SIDE * (16 if masked else 12) + (tall + 8) * (line + 116) + 3072
        return tall <= 120 and room <= ROOM

    units = -(-rows // SIDE)
    parts = next(n for n in range(1, units + 1) if n == units or fits(-(-units // n) * SIDE))
    if masked and across and parts > 1:
        parts = next(n for n in range(1, units + 1) if n == units or fits(-(-rows // n)))
        high = -(-rows // parts)
        return high, -(-rows // high)
    return -(-units // parts) * SIDE, 0


def later_of(heads: int, rows: int, keys: int, blocks: int, tiles: int) -> int:
    """In 1/1024 of 16 rows: how many fewer each block has than the one before, which began LATER cycles earlier."""
    units, cycles = heads * -(-rows // SIDE), 60 + 20 * -(-keys // SIDE)
    later = 1024 * LATER // cycles
    return 0 if tiles or later * blocks * blocks > 1024 * units else later


def launch_short(q, k, v, mask=None, scale=None, blocks=None, most=None, made=None, lse=None, **how):
    """(record, out) of the kernel for at most SHORT keys alone, on the device's tensors."""
    (batch, heads, rows, dim), (_, kv_heads, keys, _) = q.shape, k.shape
    kern = made or kernel("short_attention.asc", f"short_attention<{CTYPE[q.dtype]}>", **how)
    masked = 0 if mask is None else 1 if mask.dtype == torch.bool else 2
    full = None if mask is None else mask.expand(batch, heads, rows, keys)
    most, tiles = (most, 0) if most else steps_of(rows, keys, masked, mask is not None and full.stride(1) == 0)
    blocks = blocks or min(CUBES, batch * heads * -(-rows // SIDE))
    out = torch.full(q.shape, -1216.0, dtype=q.dtype).npu()
    a = kern.struct(
        "ShortAttention", batch=batch, heads=heads, kvHeads=kv_heads, rows=rows, keys=keys, dim=dim, most=most,
        tiles=tiles, later=later_of(batch * heads, rows, keys, blocks, tiles), masked=masked,
        keepsLse=int(lse is not None), scale=dim**-0.5 if scale is None else scale)  # fmt: skip
    _fill(a, q=q, k=k, v=v, out=out, mask=full)
    space = torch.empty(blocks * TURN * most * -(-keys // SIDE) * SIDE * 3 // 2, dtype=torch.float32).npu()
    return kern[blocks](q, k, v, mask, out, lse, space, a), out


def launch_prompt(q, k, v, mask=None, causal=False, **how):
    """(record, out) of the kernel that lab::attention takes for these shapes."""
    if not causal and k.shape[2] <= SHORT:
        return launch_short(q, k, v, mask, **how)
    return launch_attention(q, k, v, mask, causal, **how)


def launch_attention(q, k, v, mask=None, causal=False, scale=None, blocks=None, wide=None, made=None, lse=None, **how):
    """(record, out) of the kernel alone, on the device's tensors."""
    (batch, heads, rows, dim), (_, kv_heads, keys, _) = q.shape, k.shape
    kern = made or kernel("attention.asc", f"attention<{CTYPE[q.dtype]}>", **how)
    wide = min(wide or WIDE, WIDE if mask is None else WIDE // 2, -(-keys // LANES) * LANES)
    blocks = blocks or min(CUBES, batch * heads * -(-rows // TALL))
    out = torch.full(q.shape, -1216.0, dtype=q.dtype).npu()
    full = None if mask is None else mask.expand(batch, heads, rows, keys)
    a = kern.struct(
        "Attention", batch=batch, heads=heads, kvHeads=kv_heads, rows=rows, keys=keys, dim=dim, wide=wide,
        causal=int(causal), masked=0 if mask is None else 1 if mask.dtype == torch.bool else 2,
        scale=dim**-0.5 if scale is None else scale, keepsLse=int(lse is not None))  # fmt: skip
    for name, t in (("q", q), ("k", k), ("v", v), ("out", out), ("mask", full)):
        for i in range(3):
            getattr(a, name)[i] = 0 if t is None else t.stride(i)
    space = torch.empty(workspace_floats(blocks, wide, dim), dtype=torch.float32).npu()
    return kern[blocks](q, k, v, mask, out, lse, space, a), out


def launch_grouped(
    q, key_cache, value_cache, block_table, lengths, scale=None, blocks=None, wide=None, made=None, **how
):
    """(record, out) of the kernel for decoding that multiplies on the cube."""
    (batch, heads, dim), (_, page, kv_heads, _) = q.shape, key_cache.shape
    kern = made or kernel("attention.asc", f"grouped_attention<{CTYPE[q.dtype]}>", **how)
    keys, rows = block_table.shape[1] * page, heads // kv_heads
    wide = wide or min(WIDE, -(-keys // LANES) * LANES)
    blocks = blocks or min(CUBES, batch * kv_heads)
    out = torch.full(q.shape, -1216.0, dtype=q.dtype).npu()
    a = kern.struct(
        "Attention", batch=batch, heads=kv_heads, kvHeads=kv_heads, rows=rows, keys=keys, dim=dim, wide=wide,
        pageSize=page, maxPages=block_table.shape[1], scale=dim**-0.5 if scale is None else scale)  # fmt: skip
    a.q[0] = a.out[0] = heads * dim
    a.q[1] = a.out[1] = rows * dim
    a.q[2] = a.out[2] = dim
    space = torch.empty(workspace_floats(blocks, wide, dim), dtype=torch.float32).npu()
    return kern[blocks](q, key_cache, value_cache, block_table, lengths, out, space, a), out


# ---- backward

GRAD_WIDE = 256  # as in attention_grad_steps.h


def log_sums(q, k, mask=None, causal=False, scale=None):
    """[batch, heads, rows]: log(sum(exp(score))) in double; for a row that sees no key what the kernel says."""
    groups, (rows, keys) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    scores = q.double() @ k.double().repeat_interleave(groups, 1).transpose(-1, -2)
    scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones(rows, keys, dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask.double()
    return torch.logsumexp(scores, -1).clamp_min(-1e30)


def gradients(grad, q, k, v, mask=None, causal=False, scale=None):
    """(dq, dk, dv) by autograd in double."""
    given = [t.double().requires_grad_() for t in (q, k, v)]
    attention(*given, mask, causal, scale).backward(grad.double())
    return tuple(t.grad for t in given)


def gradient_terms(grad, q, k, v, mask=None, causal=False, scale=None):
    """For each element of dq, dk, dv how large the terms of its sum are, with those that cancel in dS."""
    groups, by = q.shape[1] // k.shape[1], q.shape[-1] ** -0.5 if scale is None else scale
    g, q, k, v = grad.double(), q.double(), *(t.double().repeat_interleave(groups, 1) for t in (k, v))
    shares = attention(q, k, torch.eye(k.shape[2], dtype=torch.float64).expand(*k.shape[:2], -1, -1), mask, causal, by)
    # of a score: how far its exponent may be off, and what D and g v are made of
    made = shares * (g.abs() @ v.abs().transpose(-1, -2) + (g.abs() * (shares @ v.abs())).sum(-1, keepdim=True))
    dq = made @ k.abs() * abs(by)
    dk, dv = made.transpose(-1, -2) @ q.abs() * abs(by), shares.transpose(-1, -2) @ g.abs()
    return dq, *(t.unflatten(1, (-1, groups)).sum(2) for t in (dk, dv))


def _fill(a, **tensors):
    for name, t in tensors.items():
        for i in range(3):
            getattr(a, name)[i] = 0 if t is None else t.stride(i)


def launch_backward(grad, q, k, v, out, lse, mask=None, causal=False, scale=None, blocks=None, wide=None, ahead=2,
                    made=(None, None), **how):  # fmt: skip
    """((record, record), (dq, dk, dv)) of the two kernels, on the device's tensors."""
    (batch, heads, rows, dim), (_, kv_heads, keys, _) = q.shape, k.shape
    names = [f"attention_grad_{side}<{CTYPE[q.dtype]}, {ahead}>" for side in ("queries", "keys")]
    kernels = [m or kernel("attention_grad.asc", name, **how) for m, name in zip(made, names)]
    results = [torch.full(t.shape, -1216.0, dtype=q.dtype).npu() for t in (q, k, v)]
    delta = torch.empty(batch, heads, rows, dtype=torch.float32).npu()
    full = None if mask is None else mask.expand(batch, heads, rows, keys)
    turned = None if mask is None else full.transpose(2, 3).contiguous()
    masked, by = 0 if mask is None else 1 if mask.dtype == torch.bool else 2, dim**-0.5 if scale is None else scale
    records = []
    for side, kern in enumerate(kernels):
        mine, others, n = (keys, rows, kv_heads) if side else (rows, keys, heads)
        w = min(wide or GRAD_WIDE, -(-others // LANES) * LANES)
        groups = heads // kv_heads
        a = kern.struct(
            "AttentionGrad", batch=batch, heads=n, rows=mine, others=others, loops=groups if side else 1,
            divide=1 if side else groups, dim=dim, wide=w, causal=int(causal), masked=masked, scale=by)  # fmt: skip
        tensors = (k, v, q, grad) if side else (q, grad, k, v)
        _fill(a, **dict(zip(("mine1", "mine2", "theirs1", "theirs2"), tensors)), out=out, mask=turned if side else full)
        _fill(a, to1=results[side], to2=results[2])
        used = blocks or min(CUBES, batch * n * -(-mine // TALL))
        pitch = -(-dim // LANES) * LANES
        space = torch.empty(used * 6 * TALL * (w + w // 2 + pitch), dtype=torch.float32).npu()
        if side:
            records.append(kern[used](q, k, v, grad, lse, delta, turned, *results[1:], space, a))
        else:
            records.append(kern[used](q, k, v, grad, out, lse, mask, results[0], delta, space, a))
    return tuple(records), tuple(results)
