"""Row sums of two tensors: one stream or two?"""
import time

import torch
import torch_npu

SHAPES = [(128, 512), (512, 1024), (1024, 2048)]
ROUNDS, WARM, INNER = 20, 4, 4

s1, s2 = torch.npu.Stream(), torch.npu.Stream()


def one_stream(a, b):
    out = []
    with torch.npu.stream(s1):
        for _ in range(INNER):
            out = [a.sum(dim=-1), b.sum(dim=-1)]
    return out


def two_streams(a, b):
    ra = rb = None
    for _ in range(INNER):
        with torch.npu.stream(s1):
            ra = a.sum(dim=-1)
        with torch.npu.stream(s2):
            rb = b.sum(dim=-1)
    return [ra, rb]


def timed(fn, pair):
    torch.npu.synchronize()                  # nothing is in flight on any stream
    t0 = time.perf_counter()
    fn(*pair)
    s1.synchronize()
    s2.synchronize()
    return (time.perf_counter() - t0) / INNER * 1e6


def spread(v):
    v = sorted(v)
    return f"median {v[len(v) // 2]:8.2f} us, p10 {v[len(v) // 10]:8.2f}, p90 {v[len(v) * 9 // 10]:8.2f}"


print(f"two row-sum reductions per step, fp32, {INNER} steps per wait, time per step; "
      "both streams waited for; inputs hot in L2")
for shape in SHAPES:
    pairs = [(torch.randn(shape).to("npu"), torch.randn(shape).to("npu")) for _ in range(2)]
    torch.npu.synchronize()
    first, second = one_stream(*pairs[0]), two_streams(*pairs[0])
    torch.npu.synchronize()
    assert all(torch.equal(x, y) for x, y in zip(first, second))
    t = {one_stream: [], two_streams: []}
    for r in range(ROUNDS + WARM):
        order = [one_stream, two_streams] if r % 2 else [two_streams, one_stream]
        for k, fn in enumerate(order):
            us = timed(fn, pairs[(r // 2 + k) % 2])
            if r >= WARM:
                t[fn].append(us)
    for fn, v in t.items():
        print(f"{str(shape):>13}  {fn.__name__:<11}  {spread(v)}  (n={len(v)})")
