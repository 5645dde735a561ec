import timeit
from functools import partial

import torch
import torch_npu  # noqa: F401


def burst(op, n):
    for _ in range(n):
        op()
    torch.npu.synchronize()


def report(label, op, n=12):
    burst(op, n)  # warm
    t = sorted(timeit.repeat(partial(burst, op, n), number=2, repeat=15))
    per = [v / (2 * n) * 1e6 for v in t]
    print(f"{label:<42} median {per[7]:8.2f}   min {per[0]:8.2f}   max {per[-1]:8.2f} us")


# same buffers in every call, as between two layers of a net: the figures are for data already in L2
for rows, cols in (32, 128), (128, 256), (100, 700):
    x = torch.arange(rows * cols, dtype=torch.float32).reshape(rows, cols).to("npu") / 8
    report(f"softmax fp32 [{rows}, {cols}] L2-resident", partial(torch.softmax, x, -1))
    report(f"sum      fp32 [{rows}, {cols}] L2-resident", partial(torch.sum, x, -1))
