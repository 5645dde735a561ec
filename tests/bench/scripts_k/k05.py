"""Is torch.add(x, y, alpha=2) faster than x + 2 * y? There and back: a b b a."""

import statistics
import time

import torch
import torch_npu  # noqa: F401


def batch(function, x, y):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(40):
        function(x, y)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e6 / 40


one = lambda x, y: torch.add(x, y, alpha=2)
two = lambda x, y: x + 2 * y
for shape in ((512, 512), (1024, 1024)):
    x, y = torch.rand(shape).npu(), torch.rand(shape).npu()
    for function in (one, two):
        for _ in range(10):
            function(x, y)
    a, b = [], []
    for function, into in ((one, a), (two, b), (two, b), (one, a)):
        into += [batch(function, x, y) for _ in range(12)]
    gain = statistics.median(b) / statistics.median(a)
    print(f"float32 {shape}, warm L2, 24 batches of 40 calls each, order a b b a")
    for name, us in (("add alpha", a), ("x + 2 * y", b)):
        print(f"  {name}: median {statistics.median(us):.2f} us, stdev {statistics.stdev(us):.2f}")
    print(f"  speedup {gain:.3f}")
