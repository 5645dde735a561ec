"""Throughput of an in-place scale on data that lives in L2, as the tiles of our fused pipeline do."""
import numpy as np
import torch
import torch_npu  # noqa: F401

SAMPLES, LOOP = 20, 30
MIB = 2 ** 20


def resident_rate(numel):
    """GB/s (read + written) of a tensor that each call finds where the last one left it."""
    tile = torch.ones(numel, device="npu")
    for _ in range(LOOP):
        tile.mul_(1.0)
    torch.npu.synchronize()
    pairs = []
    for _ in range(SAMPLES):
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        begin.record()
        for _ in range(LOOP):
            tile.mul_(1.0)
        end.record()
        pairs.append((begin, end))
    torch.npu.synchronize()
    seconds = np.array([b.elapsed_time(e) for b, e in pairs]) / 1e3 / LOOP
    moved = 2 * tile.numel() * tile.element_size()
    return moved / seconds / 1e9


def main():
    print("L2-resident rate, the same tile again and again: an upper bound, NOT what main memory gives")
    print("launch overhead is part of it, so small tiles are below the large")
    for mib in (1, 2, 4, 8):
        rate = resident_rate(mib * MIB // 4)
        p10, p50, p90 = np.percentile(rate, [10, 50, 90])
        print(f"{mib:3d} MiB in L2: median {p50:8.1f} GB/s   P10 {p10:8.1f}   P90 {p90:8.1f}   "
              f"{rate.size} samples of {LOOP} calls")


if __name__ == "__main__":
    main()
