# right
"""Events around each call, no wait in the loop, percentiles at three shapes."""

import torch
import torch_npu
import numpy as np


def measure(fn, warm=25, n=60):
    for _ in range(warm):
        fn()
    starts = [torch.npu.Event(enable_timing=True) for _ in range(n)]
    ends = [torch.npu.Event(enable_timing=True) for _ in range(n)]
    for s, e in zip(starts, ends):
        s.record()
        fn()
        e.record()
    torch.npu.synchronize()
    return np.array([s.elapsed_time(e) * 1e3 for s, e in zip(starts, ends)])


for shape in [(64, 1024), (1000, 1000), (4096, 512)]:
    x = torch.rand(shape).npu()
    t = measure(lambda: torch.softmax(x, dim=-1))
    print(shape, "p50 %.2f p90 %.2f p99 %.2f us" % tuple(np.percentile(t, [50, 90, 99])))
