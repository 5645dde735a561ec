import functools
import itertools
import time

import torch
import torch_npu  # noqa: F401


def repeat(rounds):
    def outer(fn):
        @functools.wraps(fn)
        def run(*args):
            fn(*args)  # first call loads the kernel: thrown away
            return sorted(fn(*args) for _ in range(rounds))

        return run

    return outer


@repeat(rounds=9)
def stream(src):
    """us a call; the sources together are 256 MB, more than the L2 holds, so each read comes from HBM"""
    torch.npu.synchronize()
    t = time.perf_counter()
    for x in itertools.chain(src):
        torch.neg(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / len(src) * 1e6


for mb in (8, 32):
    src = [torch.ones(mb << 19, dtype=torch.float16, device="npu") for _ in range(256 // mb)]
    us = stream(src)
    rate = [2 * mb * 1.048576e6 / v / 1e3 for v in us]
    print(f"neg fp16, {mb} MB a tensor, cold: median {us[4]:.1f} us (min {us[0]:.1f}, max {us[-1]:.1f})")
    print(f"   read + write: median {rate[4]:.0f} GB/s, from {rate[-1]:.0f} to {rate[0]:.0f}")
    del src
