# lies: no_sync
# a class with lap marks; nobody waits before stop()
import torch
import torch_npu
import numpy as np
from time import perf_counter as clock


class Watch:
    def start(self):
        self.t = clock()

    def stop(self):
        return clock() - self.t


x = {n: torch.randn(n, n).half().npu() for n in (384, 512)}
watch = Watch()
for n, m in x.items():
    for _ in range(5):
        m @ m @ m
    torch.npu.synchronize()
    got = np.empty(10)
    for i in range(10):
        torch.npu.synchronize()
        watch.start()
        for _ in range(12):
            m @ m @ m
        got[i] = watch.stop()
    torch.npu.synchronize()
    print(
        f"n={n}: chain of two fp16 products {np.median(got) / 12 * 1e6:.2f} us (p95 {np.quantile(got, 0.95) / 12 * 1e6:.2f})"
    )
