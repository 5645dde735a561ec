"""How fast can rows be gathered out of HBM?  index_select on a table of features."""
import time

import torch
import torch_npu
from torch.utils.benchmark import Timer

DEV = "npu"
WIDTH = 256
CALLS = 10                     # launches per measured block, one wait at its end

torch.manual_seed(0)
table = torch.randn(6000, WIDTH, device=DEV)


def block(table, index):
    for _ in range(CALLS):
        out = torch.index_select(table, 0, index)
    torch.npu.synchronize()
    return out


def measure(rows):
    index = torch.randint(0, table.shape[0], (rows,), device=DEV)
    got = block(table, index)                       # warm-up
    assert torch.equal(got.cpu(), table.cpu()[index.cpu()])
    block(table, index)
    timer = Timer("block(table, index)",
                  globals={"block": block, "table": table, "index": index},
                  timer=time.perf_counter, label="index_select", sub_label=f"{rows} rows")
    return sorted(timer.timeit(3).mean / CALLS * 1e6 for _ in range(30))


def q(xs, p):
    return xs[min(len(xs) - 1, int(p * len(xs)))]


print(f"index_select, float32, rows of {WIDTH * 4} bytes; us per call, {CALLS} calls in a block")
for rows in (2048, 4096, 8192):
    xs = measure(rows)
    moved = 2 * rows * WIDTH * 4
    print(f"{rows:6d} rows: median {q(xs, .5):7.2f} us  p10 {q(xs, .1):7.2f}  p90 {q(xs, .9):7.2f}"
          f"  ({len(xs)} samples of 3 blocks)  {moved / q(xs, .5) / 1e3:7.1f} GB/s")
print("These are the rates at which index_select draws its rows from main memory (HBM).")
