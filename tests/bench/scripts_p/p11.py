"""sum along rows by torch.utils.benchmark's Timer with a clock of our own."""
import time

import torch
import torch_npu  # noqa: F401
from torch.utils.benchmark import Timer


def clock():
    return time.perf_counter()


for shape in ((1024, 1024), (4096, 512)):
    x = torch.ones(shape, device="npu")
    for _ in range(5):
        x.sum(1)
    torch.npu.synchronize()
    timer = Timer("x.sum(1)", globals={"x": x}, timer=clock)
    m = timer.blocked_autorange(min_run_time=0.1)
    print(f"sum {shape} float32, warm: median {m.median * 1e6:.2f} us, IQR {m.iqr * 1e6:.2f} us")
