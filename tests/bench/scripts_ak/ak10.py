"""torch.cat of KV blocks: CSV with one row for each shape, to standard output."""
import csv
import sys
import time

import torch
import torch_npu  # noqa: F401

SAMPLES = 30
CALLS = 4


def seconds_per_call(parts_of_call):
    torch.npu.synchronize()
    start = time.perf_counter()
    for parts in parts_of_call:
        torch.cat(parts, dim=1)
    torch.npu.synchronize()
    return (time.perf_counter() - start) / len(parts_of_call)


def measure(heads, length, blocks, dtype):
    sets = [
        [torch.randn(heads, length, 64).to(dtype).to("npu") for _ in range(blocks)] for _ in range(CALLS)
    ]
    us = [seconds_per_call(sets) * 1e6 for _ in range(SAMPLES)]

    joined = torch.cat(sets[0], dim=1)
    assert torch.equal(joined.cpu(), torch.cat([p.cpu() for p in sets[0]], dim=1))

    ordered = sorted(us)
    moved = 2 * joined.numel() * joined.element_size()
    mean = sum(us) / len(us)
    return {
        "heads": heads,
        "length": length,
        "blocks": blocks,
        "dtype": str(dtype).removeprefix("torch."),
        "samples": len(us),
        "mean_us": f"{mean:.3f}",
        "p10_us": f"{ordered[len(us) // 10]:.3f}",
        "p50_us": f"{ordered[len(us) // 2]:.3f}",
        "p90_us": f"{ordered[9 * len(us) // 10]:.3f}",
        "mean_gb_s": f"{moved / mean / 1e3:.2f}",
    }


def main():
    print("# steady-state time of one torch.cat along the sequence, wall clock, four sets of blocks in turn, hot in L2")
    print(f"# a sample is {CALLS} calls and a wait; GB/s counts bytes read and written")
    out = None
    for heads, length, blocks in [(8, 128, 4), (8, 256, 4), (16, 256, 8)]:
        for dtype in (torch.float32, torch.bfloat16):
            row = measure(heads, length, blocks, dtype)
            if out is None:
                out = csv.DictWriter(sys.stdout, fieldnames=list(row))
                out.writeheader()
            out.writerow(row)


main()
