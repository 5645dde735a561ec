"""Scatter-add of gradient rows into a table (index_add_), as a memory benchmark."""
import json
import time

import torch
import torch_npu

ROWS, DIM = 2048, 512
WARMUP, GROUPS, CALLS = 3, 9, 20


def traffic(rows, dim, itemsize):
    """Each gradient row is read, its table row read and written back."""
    return 3 * rows * dim * itemsize


def group(table, index, grads):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        table.index_add_(0, index, grads)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / CALLS


def main():
    generator = torch.Generator().manual_seed(5)
    table = torch.zeros(ROWS, DIM).npu()
    grads = torch.randn(ROWS, DIM, generator=generator).npu()
    index = torch.randperm(ROWS, generator=generator).npu()

    for _ in range(WARMUP):
        table.index_add_(0, index, grads)
    seconds = sorted(group(table, index, grads) for _ in range(GROUPS))
    median = seconds[len(seconds) // 2]
    moved = traffic(ROWS, DIM, table.element_size())

    record = {
        "benchmark": "scatter_add_rows",
        "rows": ROWS,
        "dim": DIM,
        "dtype": str(table.dtype),
        "bytes_moved": moved,
        "groups": GROUPS,
        "calls_per_group": CALLS,
        "us_per_call": {
            "min": round(seconds[0] * 1e6, 2),
            "median": round(median * 1e6, 2),
            "max": round(seconds[-1] * 1e6, 2),
        },
        "hbm_bandwidth_GB_per_s": round(moved / median / 1e9, 1),
    }
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
