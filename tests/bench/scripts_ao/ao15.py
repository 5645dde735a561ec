"""Do independent topk calls gain from a second stream? Eight tensors; one stream or two, in turn."""
import time
from statistics import median

import torch
import torch_npu

K, TENSORS, ROUNDS = 8, 8, 12
s1, s2 = torch.npu.Stream(), torch.npu.Stream()


def one_stream(xs):
    return [torch.topk(x, K, dim=-1) for x in xs]


def two_streams(xs):
    main = torch.npu.current_stream()
    for s in (s1, s2):
        s.wait_stream(main)
    results = []
    for i, x in enumerate(xs):
        with torch.npu.stream(s1 if i % 2 else s2):
            results.append(torch.topk(x, K, dim=-1))
    for s in (s1, s2):
        main.wait_stream(s)
    return results


def clock(fn, xs):
    torch.npu.synchronize()            # every stream is idle
    t0 = time.perf_counter()
    keep = fn(xs)
    torch.npu.synchronize()            # and again: the whole device, not one stream
    t1 = time.perf_counter()
    del keep
    return (t1 - t0) * 1e6


for rows, cols in [(8, 512), (64, 512), (64, 2048)]:
    sets = [[torch.randn(rows, cols, device="npu") for _ in range(TENSORS)] for _ in range(3)]
    for a, b in zip(one_stream(sets[0]), two_streams(sets[0])):
        torch.npu.synchronize()
        assert torch.equal(a.values.cpu(), b.values.cpu()) and torch.equal(a.indices.cpu(), b.indices.cpu())
    for _ in range(3):
        clock(one_stream, sets[0]), clock(two_streams, sets[0])
    single, double = [], []
    for r in range(ROUNDS):
        xs = sets[r % 3]
        one_stream(xs)                 # brings this round's inputs to L2 for either candidate
        if r % 2:
            single.append(clock(one_stream, xs)), double.append(clock(two_streams, xs))
        else:
            double.append(clock(two_streams, xs)), single.append(clock(one_stream, xs))
    ratios = sorted(s / d for s, d in zip(single, double))
    print(f"{TENSORS} x topk({K}) of {rows} x {cols} fp32: one stream {median(single):.1f} us "
          f"[{min(single):.1f}, {max(single):.1f}], two streams {median(double):.1f} us "
          f"[{min(double):.1f}, {max(double):.1f}]; one/two {median(ratios):.3f} "
          f"[{ratios[0]:.3f}, {ratios[-1]:.3f}] over {ROUNDS} pairs")
print("Wall time from first issue to all eight results, the streams' waits included; inputs hot in L2. "
      "A ratio near 1 means no gain; above 1, two streams were faster.")
