"""Where the latency of cross_entropy lies: a histogram for each vocabulary."""
import time

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

N = 100
BAR = 40


def one_call(logits, target):
    torch.npu.synchronize()
    t = time.perf_counter_ns()
    loss = F.cross_entropy(logits, target)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - t) / 1e3, loss


def histogram(us, bins=8):
    lo, hi = min(us), max(us)
    width = max((hi - lo) / bins, 0.05)
    counts = [0] * bins
    for v in us:
        counts[min(bins - 1, int((v - lo) / width))] += 1
    for b, count in enumerate(counts):
        if count:
            print(f"    {lo + b * width:8.2f} .. {lo + (b + 1) * width:8.2f} us  {'#' * max(1, BAR * count // len(us))} {count}")


def pick(ordered, q):
    return ordered[round(q * (len(ordered) - 1))]


def study(tokens, vocab):
    # More sets than fit L2 would take too long to make here: four sets go round, so L2 may hold them (said below).
    sets = [
        (torch.randn(tokens, vocab, device="npu"), torch.randint(0, vocab, (tokens,), device="npu")) for _ in range(4)
    ]
    for logits, target in sets * 3:
        one_call(logits, target)
    us = []
    for i in range(N):
        t, loss = one_call(*sets[i % 4])
        us.append(t)
    logits, target = sets[(N - 1) % 4]
    reference = F.cross_entropy(logits.cpu(), target.cpu())
    assert abs(loss.item() - reference.item()) < 1e-3, (loss, reference)

    ordered = sorted(us)
    print(f"cross_entropy [{tokens}, {vocab}] float32: {N} calls, all of them counted")
    print(
        f"    min {ordered[0]:.2f}, p10 {pick(ordered, 0.1):.2f}, p50 {pick(ordered, 0.5):.2f}, "
        f"p90 {pick(ordered, 0.9):.2f}, max {ordered[-1]:.2f} us"
    )
    histogram(us)


print("Latency of a single call on an idle device: launch, kernels and the wait for them, on the host's clock.")
print("Inputs lie on the device and may be in L2.")
for tokens, vocab in ((128, 4096), (256, 8192), (128, 32000)):
    study(tokens, vocab)
