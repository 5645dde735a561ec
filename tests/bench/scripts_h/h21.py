"""scaled add, two ways, in turn; 30 rounds; 1024 x 1024 and 2048 x 2048; warm L2."""
import time
import numpy as np
import torch
import torch_npu

def lap(f, calls):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        f()
    torch.npu.synchronize()
    return time.perf_counter() - t

CALLS = 20
for n in (1024, 2048):
    x, y = torch.ones(n, n).npu(), torch.ones(n, n).npu()
    plain = lambda: x + 2 * y
    fused = lambda: torch.add(x, y, alpha=2)
    lap(plain, 5), lap(fused, 5)
    a, b = [], []
    for _ in range(30):
        a.append(lap(plain, CALLS) / CALLS * 1e6)
        b.append(lap(fused, CALLS // 2) / CALLS * 1e6)
    ratio = np.array(a) / b
    print(f"{n}x{n}: plain {np.median(a):.1f} us, fused {np.median(b):.1f} us, "
          f"{np.median(ratio):.2f} times as fast [{np.percentile(ratio, 5):.2f}, {np.percentile(ratio, 95):.2f}]")
