"""Temperature and top-k of logits: scale everything before torch.topk, or only the k survivors after it?"""
import functools
import time

import torch
import torch_npu

DEV = "npu"
K = 32
TEMPERATURE = 0.5
ROUNDS = 24
CANDIDATES = {}


def candidate(fn):
    @functools.wraps(fn)
    def timed(x):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        result = fn(x)
        torch.npu.synchronize()
        timed.samples.append((time.perf_counter() - t0) * 1e6)
        return result

    timed.samples = []
    timed.plain = fn
    CANDIDATES[fn.__name__] = timed
    return timed


@candidate
def scale_first(x):
    return torch.topk(x / TEMPERATURE, K, dim=-1).values


@candidate
def topk_first(x):
    return torch.topk(x, K, dim=-1).values / TEMPERATURE


def quantile(v, q):
    v = sorted(v)
    return v[round(q * (len(v) - 1))]


torch.manual_seed(11)
sweep = torch.empty(56 * 1024 * 1024, device=DEV)      # 224 MB, larger than L2
for shape in [(8, 8192), (32, 8192), (64, 16384)]:
    logits = torch.randn(shape).to(DEV)
    for fn in CANDIDATES.values():
        fn.samples.clear()
        for _ in range(5):
            fn.plain(logits)
    for _ in range(ROUNDS):
        logits.copy_(torch.randn(shape))
        sweep.zero_()
        got = [fn(logits) for fn in CANDIDATES.values()]
        assert torch.equal(got[0], got[1])
    mid = {}
    for name, fn in CANDIDATES.items():
        mid[name] = quantile(fn.samples, .5)
        print(f"{str(shape):>12} k={K} {name:>12}: p50 {mid[name]:8.2f} us  p10 {quantile(fn.samples, .1):8.2f}"
              f"  p90 {quantile(fn.samples, .9):8.2f}  ({ROUNDS} rounds)")
    print(f"{'':>12} topk_first takes {mid['topk_first'] / mid['scale_first']:.3f} of the time of scale_first, same values")
print("Times are wall clock for one call, launch included, new logits in each round and L2 swept before it.")
