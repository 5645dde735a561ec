"""softmax(x * scale + mask) with dropout: in double, rounded once; what is dropped, bit for bit as the kernel;
launches of the kernels by themselves."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

import labkit

HERE = Path(__file__).parent
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}
LOWEST = -float(np.finfo(np.float32).max)


def _mix(x):
    for by, times in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x + (x >> np.uint32(by))) * np.uint32(times)
    return x + (x >> np.uint32(16))


def kept(rows: int, width: int, p: float, seed: int) -> torch.Tensor:
    """[rows, width] of bool: what dropout keeps. seed: 64 bits."""
    word = np.uint32
    low, high = word(seed & 0xFFFFFFFF), word(seed >> 32 & 0xFFFFFFFF)
    with np.errstate(over="ignore"):
        c = _mix(np.arange(width, dtype=word) * word(0x9E3779B1) + low)[None]
        a = _mix(np.arange(rows, dtype=word) * word(0x85EBCA77) + (high + word(0x51)))[:, None]
        u = a * (c + word(0xC2B2AE3D)) + word(1)
        v = (u * u + c).view(np.int32).astype(np.float32)
    return torch.from_numpy(v >= threshold(p))


def threshold(p: float) -> np.float32:
    return np.float32((p - 0.5) * 2.0**32)


def softmax_mask_dropout(x, mask=None, scale=1.0, p=0.0, seed=0):
    """(y, shares): dropout(softmax(x * scale + mask)) and the softmax alone. mask broadcasts to x; of bool: True where
    a column takes part, and a row in which none does has equal shares."""
    scores = x.double() * float(np.float32(scale))
    if mask is not None and mask.dtype == torch.bool:
        scores = torch.where(mask, scores, scores.new_tensor(-torch.inf)).expand(scores.shape)
        scores = torch.where(mask.any(-1, keepdim=True), scores, 0.0)
    elif mask is not None:
        scores = scores + mask.double()
    shares = torch.softmax(scores, -1)
    return (dropped(shares, p, seed)).to(x.dtype), shares.to(x.dtype)


def dropped(t, p, seed):
    """t / (1 - p) where it is kept, else 0; t is a double."""
    if p == 0:
        return t
    keep = kept(t[..., 0].numel(), t.shape[-1], p, seed).view(t.shape)
    return torch.where(keep, t * (0.0 if p == 1 else 1 / (1 - p)), 0.0)


def backward(dy, shares, scale=1.0, p=0.0, seed=0):
    """(dx, how large the terms are that it is the sum of)."""
    s, g = shares.double(), dropped(dy.double(), p, seed)
    dx = float(np.float32(scale)) * s * (g - (g * s).sum(-1, keepdim=True))
    return dx.to(dy.dtype), abs(scale) * s * (g.abs() + (g * s).abs().sum(-1, keepdim=True))


def terms(x, mask=None, scale=1.0, p=0.0):
    """For each row how many last places of float the exponent may lose, as a factor of y."""
    size = x.double().abs() * abs(scale)
    if mask is not None and mask.dtype != torch.bool:
        size = size + mask.double().abs().nan_to_num(posinf=0.0).clamp(max=1e4)
    return size.amax(-1, keepdim=True)


@lru_cache(maxsize=None)
def kernel(entry: str, **how):
    return labkit.kernel(HERE / "softmax_mask_dropout.asc", entry=entry, **{"timeout": 120, **how})


def steps(lead, mask) -> dict:
    """Of the struct Scores: rows of x as planes, and the mask's row of each; as the adapter works it out."""
    rows = int(np.prod(lead, dtype=np.int64))
    if mask is None:
        return {"inner": rows, "mid": 1, "outerStep": 0, "midStep": 0, "rowStep": 0}
    sizes = [1] * (len(lead) - (mask.dim() - 1)) + list(mask.shape[:-1])
    dims, step = [], 1  # (rows, rows of the mask from one to the next), the last first; neighbours that go on are one
    for many, there in zip(reversed(lead), reversed(sizes)):
        apart = step if there > 1 else 0
        if many > 1 and dims and (apart == dims[-1][0] * dims[-1][1]):
            dims[-1] = (dims[-1][0] * many, dims[-1][1])
        elif many > 1:
            dims.append((many, apart))
        step *= there
    dims += [(1, 0)] * (3 - len(dims))
    if len(dims) > 3 or dims[0][1] > 1:
        raise ValueError(f"mask {tuple(mask.shape)} for rows {tuple(lead)}: more than three changes of direction")
    (inner, row), (mid, plane), (_, outer) = dims
    return {"inner": inner, "mid": mid, "outerStep": outer, "midStep": plane, "rowStep": row}


def launch(x, mask=None, scale=1.0, p=0.0, seed=0, shares=False, blocks=48, wide=False, made=None, **how):
    """(record, y, shares or None) of the kernel alone, on the device's tensors."""
    kern = made or kernel(f"softmax_mask_dropout{'_wide' * wide}<{CTYPE[x.dtype]}>", **how)
    s = _scores(kern, x, 0 if mask is None else 2 if mask.dtype == torch.bool else 1, scale, p, seed)
    for name, value in steps(x.shape[:-1], mask).items():
        setattr(s, name, value)
    y, kept_ = torch.empty_like(x), torch.empty_like(x) if shares else None
    given = mask.view(torch.uint8) if mask is not None and mask.dtype == torch.bool else mask
    return kern[blocks](x, given, y, kept_, s), y, kept_


def launch_backward(dy, shares, scale=1.0, p=0.0, seed=0, blocks=48, wide=False, made=None, **how):
    """(record, dx) of the kernel alone."""
    kern = made or kernel(f"softmax_mask_dropout{'_wide' * wide}_backward<{CTYPE[dy.dtype]}>", **how)
    s = _scores(kern, dy, 1, scale, p, seed)
    s.inner, s.mid, s.rowStep = s.rows, 1, 1
    dx = torch.empty_like(dy)
    return kern[blocks](shares, dy, dx, s), dx


def _scores(kern, x, kind, scale, p, seed):
    numbers = {"kind": kind, "scale": scale, "kept": 0.0 if p == 1 else 1 / (1 - p), "threshold": float(threshold(p))}
    seeds = {"drops": int(p > 0), "seedLow": seed & 0xFFFFFFFF, "seedHigh": seed >> 32 & 0xFFFFFFFF}
    return kern.struct("Scores", rows=x[..., 0].numel(), width=x.shape[-1], **numbers, **seeds)


def chain(x, mask=None, scale=1.0, p=0.0, seed=0, blocks=48, **how):
    """([records], y) of naive.asc's launches: scores, softmax, and dropout where p > 0."""
    records, t = [], x
    for part in (1, 2, 4)[: 3 if p else 2]:
        entry = f"softmax_part<{CTYPE[x.dtype]}, {part}>"
        kern = naive(entry, **how)
        given = mask if part == 1 else None
        kind = 0 if given is None else 2 if given.dtype == torch.bool else 1
        s = _scores(kern, x, kind, scale if part == 1 else 1.0, p if part == 4 else 0.0, seed)
        for name, value in steps(x.shape[:-1], given).items():
            setattr(s, name, value)
        bytes_ = given.view(torch.uint8) if kind == 2 else given
        y = torch.empty_like(x)
        records.append(kern[blocks](t, bytes_, y, s))
        t = y
    return records, t


@lru_cache(maxsize=None)
def naive(entry: str, **how):
    return labkit.kernel(HERE / "naive.asc", entry=entry, **{"timeout": 120, **how})
