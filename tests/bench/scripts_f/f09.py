"""A decorator that times over log spaced widths and draws a small table. Warm L2 throughout."""
import functools
import time
import numpy as np
import torch
import torch_npu


def over(widths, calls=16, blocks=30):
    def wrap(make):
        @functools.wraps(make)
        def run():
            for width in widths:
                call = make(width)
                for _ in range(calls):
                    call()
                torch.npu.synchronize()
                data = np.empty(blocks)
                for i in range(blocks):
                    t = time.perf_counter()
                    for _ in range(calls):
                        call()
                    torch.npu.synchronize()
                    data[i] = time.perf_counter() - t
                us = data / calls * 1e6
                print(f"{make.__name__} {width:6d}: median {np.median(us):8.2f} us, IQR {np.subtract(*np.percentile(us, [75, 25])):.2f}")
        return run
    return wrap


@over(np.logspace(7, 12, 6, base=2, dtype=int).tolist())
def logsumexp(width):
    x = torch.ones(128, width, device="npu")
    return lambda: torch.logsumexp(x, -1)


logsumexp()
