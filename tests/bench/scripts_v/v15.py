"""What torch.compile costs once and what a call costs afterwards, per fixed shape."""
import random
import time

import numpy as np
import torch
import torch_npu

SHAPES, PAIRS, CALLS = [(256, 512), (1024, 512)], 30, 5


def epilogue(x, bias, residual):
    y = x + bias
    y = y * torch.sigmoid(1.702 * y)
    return (y + residual) * 0.5


def wall_ms(fn, args, calls):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        out = fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e3 / calls, out


def ratio_interval(a, b, reps=2000):
    idx = np.random.default_rng(0).integers(0, len(a), (reps, len(a)))
    return np.percentile(np.median(a[idx], 1) / np.median(b[idx], 1), [2.5, 97.5])


@torch.no_grad()
def main():
    torch.manual_seed(0)
    for shape in SHAPES:
        torch._dynamo.reset()
        compiled = torch.compile(epilogue, dynamic=False)
        args = (torch.randn(shape, device="npu"), torch.randn(shape[-1], device="npu"), torch.randn(shape, device="npu"))
        for _ in range(5):
            wall_ms(epilogue, args, CALLS)
        first, out = wall_ms(compiled, args, 1)
        torch.testing.assert_close(out, epilogue(*args), rtol=1e-4, atol=1e-5)
        for _ in range(5):
            wall_ms(compiled, args, CALLS)
        t = {"eager": [], "compiled": []}
        for _ in range(PAIRS):
            for name in random.sample(list(t), 2):
                t[name].append(wall_ms(epilogue if name == "eager" else compiled, args, CALLS)[0])
        e, c = np.array(t["eager"]), np.array(t["compiled"])
        lo, hi = ratio_interval(e, c)
        print(f"shape {shape}")
        print(f"  first compiled call, tracing and compilation included: {first:.1f} ms (seen once, process and disk caches as found)")
        print(f"  later calls, {PAIRS} shuffled pairs of {CALLS} calls, launch included:")
        print(f"    eager    {np.median(e):.4f} ms (p10 {np.percentile(e, 10):.4f}, p90 {np.percentile(e, 90):.4f})")
        print(f"    compiled {np.median(c):.4f} ms (p10 {np.percentile(c, 10):.4f}, p90 {np.percentile(c, 90):.4f})")
        print(f"    eager/compiled {np.median(e) / np.median(c):.2f}, 95% interval {lo:.2f} to {hi:.2f}"
              + (" - not distinguishable" if lo <= 1 <= hi else " - for this shape"))


if __name__ == "__main__":
    main()
