import statistics
import time

import torch
import torch_npu

BLOCKS, CALLS = 12, 10


def laps(layer, x):
    """One figure per block of calls, in microseconds a call."""
    for _ in range(10):
        layer(x)
    while True:
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for _ in range(CALLS):
            layer(x)
        t1 = time.perf_counter()
        yield 1e6 * (t1 - t0) / CALLS


def take(generator, n):
    return [next(generator) for _ in range(n)]


with torch.no_grad():
    print(f"LayerNorm forward, float32, {BLOCKS} blocks of {CALLS} calls, same input each call (L2 warm)")
    print(f"{'tokens':>8} {'hidden':>8} {'median us':>10} {'min':>8} {'max':>8}")
    for tokens, hidden in [(1024, 768), (2048, 1024), (1024, 2048)]:
        layer = torch.nn.LayerNorm(hidden).npu()
        x = torch.randn(tokens, hidden).npu()
        got = take(laps(layer, x), BLOCKS)
        print(f"{tokens:8} {hidden:8} {statistics.median(got):10.2f} {min(got):8.2f} {max(got):8.2f}")
