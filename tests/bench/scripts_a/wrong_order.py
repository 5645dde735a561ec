# lies: order
import time
import numpy as np
import torch
import torch_npu


def timed(fn, rounds=15, inner=20):
    for _ in range(10):
        fn()
    torch.npu.synchronize()
    out = []
    for _ in range(rounds):
        t0 = time.perf_counter()
        for _ in range(inner):
            fn()
        torch.npu.synchronize()
        out.append((time.perf_counter() - t0) / inner * 1e6)
    return np.array(out)


x = torch.randn(1024, 1024).npu()
old = timed(lambda: x * torch.sigmoid(x))
new = timed(lambda: torch.nn.functional.silu(x))
print(f"1024x1024: old {np.median(old):.1f} us (sd {old.std():.2f}), new {np.median(new):.1f} us (sd {new.std():.2f})")
print(f"speedup {np.median(old) / np.median(new):.2f}x")
