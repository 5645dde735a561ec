"""Bags of embeddings beside dense features, then linear and ReLU: in double; launches of the kernel by itself."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import torch

import labkit

HERE = Path(__file__).parent
VECTORS, FOUND = 48, 8
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}
ITYPE = {torch.int32: "int32_t", torch.int64: "int64_t"}


def bags(tables, ids, dense=None, weights=None, mode="sum", padding_idx=None):
    """[samples, tables * width + dense] in double; an id out of range counts as a row of zeros."""
    parts = []
    for t, table in enumerate(tables):
        i = ids[t].long()
        there = torch.ones_like(i, dtype=torch.bool) if padding_idx is None else i != padding_idx
        rows = table.double()[i.clamp(0, len(table) - 1)] * (there & (i >= 0) & (i < len(table)))[..., None]
        if weights is not None:
            rows = rows * weights[t].double()[..., None]
        total = rows.sum(1)
        parts.append(total / there.sum(1, keepdim=True).clamp(min=1) if mode == "mean" else total)
    return torch.cat([*parts, *([] if dense is None else [dense.double()])], 1)


@lru_cache(maxsize=None)
def kernel(entry: str, **how):
    return labkit.kernel(HERE / "embedding_bag.asc", entry=entry, **{"timeout": 120, **how})


def launch(tables, ids, dense=None, weights=None, mode="sum", padding_idx=None, blocks=VECTORS, made=None, **how):
    """(record, x, [(how many ids out of range, table, sample, place, id of the first) of each core])."""
    kern = made or kernel(f"embedding_bags<{CTYPE[tables[0].dtype]}, {ITYPE[ids.dtype]}>", **how)
    count, samples, bag = ids.shape
    width, columns = tables[0].shape[1], 0 if dense is None else dense.shape[1]
    b = kern.struct(
        "Bags", count=count, width=width, samples=samples, bag=bag, dense=columns, line=count * width + columns,
        mode=int(mode == "mean"), ragged=int(padding_idx is not None), padding=padding_idx or 0)  # fmt: skip
    begin = 0
    for t, table in enumerate(tables):
        b.begins[t], b.rows[t] = begin, len(table)
        begin += len(table)
    x = torch.full((samples, count * width + columns), -1216.0, dtype=tables[0].dtype).npu()
    wrong = torch.zeros(blocks, FOUND, dtype=torch.int32).npu()
    return kern[blocks](torch.cat(list(tables)), ids, weights, dense, x, wrong, b), x, wrong
