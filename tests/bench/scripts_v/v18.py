"""Attention bias: torch.baddbmm against bmm followed by add."""
import time

import numpy as np
import torch
import torch_npu

SHAPES = [(8, 64, 64), (8, 128, 64), (16, 128, 64)]
SAMPLES, CALLS, WARMUP = 40, 5, 10


def two_ops(bias, q, kt):
    return torch.bmm(q, kt) + bias


def one_op(bias, q, kt):
    return torch.baddbmm(bias, q, kt)


def collect(fn, args):
    for _ in range(WARMUP):
        fn(*args)
    us = []
    for _ in range(SAMPLES):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for _ in range(CALLS):
            fn(*args)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) * 1e6 / CALLS)
    return np.array(us)


def bootstrap(a, b, reps=2000):
    rng = np.random.default_rng(0)
    pick = lambda v: np.median(v[rng.integers(0, len(v), (reps, len(v)))], axis=1)
    return np.percentile(pick(a) / pick(b), [2.5, 97.5])


@torch.no_grad()
def main():
    torch.manual_seed(0)
    inputs = []
    for bh, s, d in SHAPES:
        q = torch.randn(bh, s, d, device="npu")
        kt = torch.randn(bh, d, s, device="npu")
        bias = torch.randn(bh, s, s, device="npu")
        torch.testing.assert_close(two_ops(bias, q, kt), one_op(bias, q, kt), rtol=1e-3, atol=1e-3)
        inputs.append((bias, q, kt))

    results = {}
    for fn in (two_ops, one_op):
        results[fn] = [collect(fn, args) for args in inputs]

    for shape, before, after in zip(SHAPES, results[two_ops], results[one_op]):
        lo, hi = bootstrap(before, after)
        gain = (np.median(before) / np.median(after) - 1) * 100
        print(f"(bh, s, d)={shape}: bmm+add {np.median(before):.1f} us, baddbmm {np.median(after):.1f} us, "
              f"{gain:+.1f} % [{(lo - 1) * 100:+.1f}, {(hi - 1) * 100:+.1f}]"
              f"{' -> baddbmm wins for this shape' if lo > 1 else ''}")
    print(f"median of {SAMPLES} samples of {CALLS} calls, wall time with launch, fp32")


if __name__ == "__main__":
    main()
