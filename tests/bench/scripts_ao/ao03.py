"""torch.where against masked_fill for zeroing masked scores: paired rounds, order changing from round to round."""
import random
import time

import torch
import torch_npu

SHAPES = [(64, 256), (256, 256), (512, 512), (8, 4096)]
ROUNDS = 14
CALLS = 5

rng = random.Random(7)
zero = torch.zeros((), device="npu", dtype=torch.float16)


def with_where(x, mask):
    return torch.where(mask, zero, x)


def with_fill(x, mask):
    return x.masked_fill(mask, 0.0)


def once(fn, x, mask):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(CALLS):
        fn(x, mask)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


def med(v):
    v = sorted(v)
    m = len(v) // 2
    return v[m] if len(v) % 2 else 0.5 * (v[m - 1] + v[m])


for shape in SHAPES:
    x = torch.randn(shape, device="npu", dtype=torch.float16)
    mask = torch.rand(shape, device="npu") < 0.3
    assert torch.equal(with_where(x, mask), with_fill(x, mask))
    for _ in range(6):
        with_where(x, mask), with_fill(x, mask)
    torch.npu.synchronize()

    order = [True, False] * (ROUNDS // 2)
    rng.shuffle(order)
    where_us, fill_us, ratio = [], [], []
    for where_first in order:
        if where_first:
            a = once(with_where, x, mask)
            b = once(with_fill, x, mask)
        else:
            b = once(with_fill, x, mask)
            a = once(with_where, x, mask)
        where_us.append(a)
        fill_us.append(b)
        ratio.append(a / b)
    ratio.sort()
    lo, hi = ratio[ROUNDS // 4], ratio[-1 - ROUNDS // 4]
    print(f"{str(shape):12s} fp16: where {med(where_us):7.2f} us, masked_fill {med(fill_us):7.2f} us per call; "
          f"where/masked_fill per pair {med(ratio):.3f}, quartiles {lo:.3f} to {hi:.3f} ({ROUNDS} pairs)")
print(f"Wall time, {CALLS} calls per wait; input and mask hot in L2; results identical bit for bit.")
