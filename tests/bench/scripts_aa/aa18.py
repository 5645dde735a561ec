import time
from types import SimpleNamespace

import numpy as np
import torch
import torch_npu


def scores(batch, heads, context, dtype):
    return torch.randn(batch, heads, 1, context, device="npu", dtype=dtype)


class Probe:
    def __init__(self, function, warmup=20):
        self.function = function
        for _ in range(warmup):
            function()
        torch.npu.synchronize()

    def __call__(self, count):
        out = np.empty(count)
        for i in range(count):
            begin = time.perf_counter_ns()
            self.function()
            torch.npu.synchronize()
            out[i] = time.perf_counter_ns() - begin
        out /= 1e3
        p10, p50, p90 = np.percentile(out, [10, 50, 90])
        return SimpleNamespace(p10=p10, p50=p50, p90=p90, count=count)


def main():
    torch.manual_seed(9)
    print("softmax kernel in decode, device time per launch")
    for batch, heads, context in [(1, 8, 512), (4, 8, 1024), (8, 16, 1024)]:
        x = scores(batch, heads, context, torch.float16)
        r = Probe(lambda: torch.softmax(x, dim=-1))(100)
        print(f"  {batch} x {heads} x 1 x {context} float16: kernel {r.p50:7.2f} us   (p10 {r.p10:.2f}, p90 {r.p90:.2f}, n = {r.count})")


main()
