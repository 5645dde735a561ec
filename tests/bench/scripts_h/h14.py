import torch
import torch_npu
import numpy as np

def run(f, samples=20, calls=20):
    out = []
    for _ in range(samples):
        first, last = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        done = torch.npu.Event()
        first.record()
        for _ in range(calls):
            f()
            done.record()
            done.synchronize()
        last.record()
        torch.npu.synchronize()
        out.append(first.elapsed_time(last) * 1e3 / calls)
    return np.asarray(out)

for n in (1000, 100_000, 1_000_000):
    v = torch.ones(n).npu()
    torch.neg(v), torch.npu.synchronize()
    us = run(lambda: torch.neg(v))
    lo, med, hi = np.percentile(us, (2.5, 50, 97.5))
    print(f"neg of {n} floats: {med:.2f} us [{lo:.2f}, {hi:.2f}] (warm)")
