# lies: one_shape, order
import time
import torch
import torch_npu
import numpy as np
import torch.nn.functional as F


def bench(name, fn):
    for _ in range(10):
        fn()
    torch.npu.synchronize()
    t = []
    for _ in range(20):
        torch.npu.synchronize()
        s = time.perf_counter()
        for _ in range(40):
            fn()
        torch.npu.synchronize()
        t.append((time.perf_counter() - s) / 40 * 1e6)
    p50, p99 = np.percentile(t, [50, 99])
    print(f"{name:10} p50 {p50:.2f} us  p99 {p99:.2f} us")
    return p50


x = torch.randn(640, 640).npu()
g, s = bench("gelu", lambda: F.gelu(x)), bench("silu", lambda: F.silu(x))
print("silu is faster than gelu" if s < g else "gelu is faster than silu")
