import torch
import torch_npu
import functools
import math
import time

import numpy as np


def stamp():
    """Milliseconds since the epoch, as in our log files."""
    return int(time.time() * 1000)


def timed(samples, calls, warmup=10):
    def decorate(fn):
        @functools.wraps(fn)
        def run(*args):
            for _ in range(warmup):
                fn(*args)
            torch.npu.synchronize()
            laps = []
            for _ in range(samples):
                torch.npu.synchronize()
                begin = stamp()
                for _ in range(calls):
                    fn(*args)
                torch.npu.synchronize()
                laps.append((stamp() - begin) * 1000 / calls)
            return np.array(laps)

        return run

    return decorate


@timed(samples=50, calls=4)
def masked_softmax(scores, bias):
    return torch.softmax(scores + bias, dim=-1)


torch.manual_seed(8)
heads, length = 4, 256
scores = torch.randn(heads, length, length).npu()
bias = torch.full((length, length), -1e4).triu(1).npu()
got = masked_softmax.__wrapped__(scores, bias).cpu()
torch.testing.assert_close(got, torch.softmax(scores.cpu() + bias.cpu(), dim=-1), rtol=1e-4, atol=1e-6)

us = masked_softmax(scores, bias)
p10, p50, p90 = np.percentile(us, [10, 50, 90])
half = 1.96 * us.std(ddof=1) / math.sqrt(us.size)
print(f"masked softmax, scores {heads} x {length} x {length}, float32, L2 warm")
print(f"wall time per call: P10 {p10:.1f} us, P50 {p50:.1f} us, P90 {p90:.1f} us, mean {us.mean():.1f} +- {half:.1f} us (95%)")
print(f"{us.size} samples of 4 calls each with one wait behind them, 10 calls to warm up")
