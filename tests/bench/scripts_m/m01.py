import statistics
import time

import torch
import torch_npu  # noqa: F401


def gated(x, g):
    return torch.relu(x * g) + x


def samples(fn, args, n=30):
    got = []
    for _ in range(n):
        t0 = time.perf_counter()
        for _ in range(10):
            fn(*args)
        torch.npu.synchronize()
        got.append((time.perf_counter() - t0) / 10 * 1e6)
    return got


def main():
    for rows in (64, 256, 512):
        args = torch.ones(rows, 512, device="npu"), torch.ones(rows, 512, device="npu")
        for _ in range(10):  # load the operators
            gated(*args)
        torch.npu.synchronize()
        fast = torch.compile(gated, backend="npu", dynamic=False)
        for name, fn in (("graph", fast), ("eager", gated), ("eager", gated), ("graph", fast)):
            s = samples(fn, args)
            mean, sd = statistics.mean(s), statistics.stdev(s)
            print(f"[{rows}x512 fp32, inputs warm in L2] {name}: {mean:.1f} +- {sd:.1f} us, n={len(s)}")


main()
