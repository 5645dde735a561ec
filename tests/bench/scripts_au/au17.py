"""torch.cat along dim 0 and dim 1: device time per call."""
import csv
import io

import torch
import torch_npu

ITERS = 12
GRID = [(2, 256, 256), (4, 256, 256), (8, 128, 256)]   # parts, rows, columns


def pieces(count, rows, cols):
    return [torch.rand(rows, cols, device="npu") for _ in range(count)]


def joined(count, rows, cols, dim):
    return torch.cat(pieces(count, rows, cols), dim=dim)


def device_us(count, rows, cols, dim):
    for _ in range(3):
        joined(count, rows, cols, dim)
    torch.npu.synchronize()
    head = torch.npu.Event(enable_timing=True)
    tail = torch.npu.Event(enable_timing=True)
    head.record()
    for _ in range(ITERS):
        joined(count, rows, cols, dim)
    tail.record()
    torch.npu.synchronize()
    return head.elapsed_time(tail) * 1e3 / ITERS


def main():
    sheet = io.StringIO()
    out = csv.DictWriter(sheet, fieldnames=["parts", "rows", "cols", "dtype", "cat_dim", "iters", "cat_us", "cat_gbps"])
    out.writeheader()
    for count, rows, cols in GRID:
        for dim in (0, 1):
            us = device_us(count, rows, cols, dim)
            moved = 2 * count * rows * cols * 4
            out.writerow({"parts": count, "rows": rows, "cols": cols, "dtype": "float32", "cat_dim": dim,
                          "iters": ITERS, "cat_us": f"{us:.2f}", "cat_gbps": f"{moved / us / 1e3:.1f}"})
    print(sheet.getvalue(), end="")
    print("# cat_us: torch.cat alone, back to back, warm, by events; cat_gbps: bytes read and written over cat_us, from L2")


if __name__ == "__main__":
    main()
