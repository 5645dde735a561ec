"""The gradient of an embedding's table in double; launches of both kernels by themselves; ids as programs have them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import torch

import labkit

HERE = Path(__file__).parent
VECTORS, FOUND, LEAST_SHARE, LEAST_ROWS, CHUNK = 48, 8, 8, 64, 2048
WAYS = ("scatter", "combine", "segments")
CTYPE = {torch.float16: "half", torch.bfloat16: "bfloat16_t", torch.float32: "float"}
ITYPE = {torch.int32: "int32_t", torch.int64: "int64_t"}


def table(grad, ids, rows: int, padding: int = -1, scale_by_freq: bool = False):
    """[rows, width] in double; grad [n, width], ids [n]. An id out of range adds nothing."""
    ids = ids.long()
    there = (ids >= 0) & (ids < rows) & (ids != padding)
    wide = grad.double() * there[:, None]
    safe = ids.clamp(0, rows - 1)
    if scale_by_freq:
        wide = wide / torch.bincount(safe, minlength=rows)[safe][:, None]
    return torch.zeros(rows, grad.shape[1], dtype=torch.float64).index_add_(0, safe, wide)


def file(way: str) -> Path:
    return HERE / ("combine.asc" if way == "combine" else "embedding_grad.asc")


@lru_cache(maxsize=None)
def kernel(entry: str, **how):
    return labkit.kernel(file(entry.split("<")[0]), entry=entry, **{"timeout": 120, **how})


def shares(count: int, blocks: int) -> tuple[int, int]:
    """(sorted places of a core, cores): at least LEAST_SHARE a core, and no core without any."""
    share = max(LEAST_SHARE, -(-count // blocks))
    return share, -(-count // share)


def launch(way: str, grad, ids, rows: int, padding: int = -1, blocks: int = VECTORS, made=None, empty=False, **how):
    """(record, table, what each core wrote down); grad, ids and the result on the device. way: of WAYS.
    The time is that of the launch: neither the zeros before it nor the sort are in it.
    empty: no zeros, for the time alone."""
    types = [CTYPE[grad.dtype], ITYPE[ids.dtype]] + [ITYPE[ids.dtype]] * (way == "segments")
    kern = made or kernel(f"{way}<{', '.join(types)}>", **how)
    count, width = grad.shape
    look = kern.struct("Lookup", count=count, width=width, rows=rows, padding=padding)
    if way != "segments":
        wrong = torch.zeros(blocks, FOUND, dtype=torch.int32).npu()
        out = (torch.empty if empty else torch.zeros)(rows, width, device="npu")
        return kern[blocks](grad, ids, out, wrong, look), out, wrong
    look.share, blocks = shares(count, blocks)
    wrong = torch.zeros(blocks, FOUND, dtype=torch.int32).npu()
    out = (torch.empty if empty else torch.zeros)(rows, width, dtype=grad.dtype, device="npu")
    places = torch.sort(ids.cpu(), stable=True)
    partial = torch.empty(2 * blocks, width).npu()
    record = kern[blocks](grad, places.values.npu(), places.indices.to(ids.dtype).npu(), out, partial, wrong, look)
    return record, out, wrong


def sort(ids, made=None, **how):
    """(record, the ids in order, the place of each): a launch of sort_ids.asc, up to 8192 ids."""
    kern = made or labkit.kernel(HERE / "sort_ids.asc", entry=f"sort_ids<{ITYPE[ids.dtype]}>", **how)
    cores = -(-len(ids) // CHUNK)
    records = torch.empty(2 * CHUNK * cores, device="npu")
    found, order = (torch.empty(len(ids), dtype=torch.int32, device="npu") for _ in range(2))
    return kern[cores](ids, records, found, order, len(ids)), found, order


def draw(kind: str, count: int, rows: int, seed: int = 0):
    """ids [count], int64. kind: "uniform"; "zipf": the k-th most popular of `rows` with a share of 1 / k, which is
    popular drawn too; "one": all the same; "runs": a few ids."""
    made = torch.Generator().manual_seed(seed)
    if kind == "uniform":
        return torch.randint(0, rows, (count,), generator=made)
    if kind == "zipf":
        edges = (1 / torch.arange(1, rows + 1, dtype=torch.float64)).cumsum(0)
        rank = torch.searchsorted(edges / edges[-1], torch.rand(count, generator=made, dtype=torch.float64))
        return torch.randperm(rows, generator=made)[rank.clamp(max=rows - 1)]
    few = torch.randint(0, rows, (1 if kind == "one" else 3,), generator=made)
    return few[torch.randint(0, len(few), (count,), generator=made)]
