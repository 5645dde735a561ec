"""Decorated functions are timed. Shapes are in the names."""
import functools
import statistics
import time
import torch
import torch_npu

LOG = {}

def timed(name, calls=10, laps=25):
    def wrap(f):
        @functools.wraps(f)
        def run():
            f()
            torch.npu.synchronize()
            stream = torch.npu.Stream()
            for _ in range(laps):
                t = time.perf_counter()
                for _ in range(calls):
                    f()
                stream.synchronize()
                LOG.setdefault(name, []).append(1e6 * (time.perf_counter() - t) / calls)
                torch.npu.synchronize()
        return run
    return wrap

x = torch.ones(2048, 4096).npu()
y = torch.ones(64, 4096).npu()

@timed("exp 2048x4096")
def big():
    torch.exp(x)

@timed("cumsum 64x4096")
def small():
    torch.cumsum(y, 1)

big(), small()
for name, us in LOG.items():
    print(name, "median", round(statistics.median(us), 2), "stdev", round(statistics.stdev(us), 3), "us, warm L2")
