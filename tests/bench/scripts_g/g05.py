"""Cost of building the rotary tables at the start of a request."""

import functools
import statistics
import timeit

import torch
import torch_npu  # noqa: F401

CALLS = 50


@functools.lru_cache(maxsize=16)
def rotary_tables(length: int, width: int, base: float = 10000.0):
    position = torch.arange(length, device="npu", dtype=torch.float32)
    rate = torch.pow(base, -torch.arange(0, width, 2, device="npu", dtype=torch.float32) / width)
    angle = torch.outer(position, rate)
    return torch.cos(angle), torch.sin(angle)


def batch(length, width):
    for _ in range(CALLS):
        rotary_tables(length, width)
    torch.npu.synchronize()


for length, width in ((512, 128), (2048, 128), (8192, 64)):
    batch(length, width)  # warm-up
    seconds = timeit.repeat(functools.partial(batch, length, width), number=1, repeat=30)
    us = [1e6 * s / CALLS for s in seconds]
    q1, q2, q3 = statistics.quantiles(us, n=4)
    print(
        f"build cos/sin for length {length:5}, width {width:3}, fp32: median {q2:.2f} us a build (IQR {q1:.2f} to {q3:.2f}, n={len(us)})"
    )
