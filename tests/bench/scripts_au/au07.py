"""Embedding lookup, once with the table in L2 and once from HBM."""
import statistics

import torch
import torch.nn.functional as F
import torch_npu

DIM = 256
L2_MIB = 192
CASES = [(4096, 2048), (16384, 8192)]   # rows in the table, ids per lookup
WARM, SAMPLES = 3, 5

evict = torch.empty((L2_MIB + 32) * (1 << 20) // 4, device="npu")
modest = evict[: (48 << 20) // 4]


def lookups(table, ids, ahead):
    """Device time of single lookups; `ahead` is filled first and keeps the queue busy."""
    marks = []
    for _ in range(SAMPLES):
        ahead.zero_()
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        a.record()
        F.embedding(ids, table)
        b.record()
        marks.append((a, b))
    torch.npu.synchronize()
    return [a.elapsed_time(b) * 1e3 for a, b in marks]


def cell(us):
    return f"{statistics.median(us):.1f} ({min(us):.1f} to {max(us):.1f})"


def main():
    torch.manual_seed(1)
    lines = []
    for rows, count in CASES:
        table = torch.randn(rows, DIM).half().npu()
        ids = torch.randint(0, rows, (count,)).npu()
        for _ in range(WARM):
            F.embedding(ids, table)
            modest.zero_()
        torch.npu.synchronize()
        hot = lookups(table, ids, modest)
        evict.zero_()
        cold = lookups(table, ids, evict)
        lines.append(f"| {rows} x {DIM} | {count} | {cell(hot)} | {cell(cold)} |")

    print("### F.embedding, fp16: device time of a lookup in us\n")
    print("| table | ids | L2-resident: median (range) | evicted: median (range) |")
    print("|---|---:|---:|---:|")
    print("\n".join(lines))
    print(f"\n* {SAMPLES} samples a cell, by events; a fill runs ahead of each first event, so the queue is never empty.")
    print(f"* evicted: the fill is larger than the {L2_MIB} MiB of L2 and drives table and ids out of it.")
    print("* L2-resident: the fill is 48 MiB, which leaves them where the warm-up and the lookup before brought them.")
    print("* Only these tables and counts were measured.")


main()
