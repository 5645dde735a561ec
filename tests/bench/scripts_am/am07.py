"""cross_entropy forward and forward+backward, summed up with the statistics module."""
import statistics as st
from itertools import cycle, islice
from time import perf_counter_ns

import torch
import torch.nn.functional as F
import torch_npu

device = "npu"
torch.manual_seed(42)


def forward(logits, target):
    with torch.no_grad():
        return F.cross_entropy(logits, target)


def forward_backward(logits, target):
    loss = F.cross_entropy(logits, target)
    loss.backward()
    return loss


def sample(fn, pool, n):
    out = []
    for logits, target in islice(cycle(pool), n):
        logits.grad = None
        torch.npu.synchronize()
        t = perf_counter_ns()
        fn(logits, target)
        torch.npu.synchronize()
        out.append((perf_counter_ns() - t) / 1000)
    return out


def describe(xs):
    deciles = st.quantiles(xs, n=10, method="inclusive")
    return f"median {st.median(xs):9.2f}  d1 {deciles[0]:9.2f}  d9 {deciles[8]:9.2f}  stdev {st.stdev(xs):7.3f}"


print("F.cross_entropy, float32, mean reduction; wall time of a call in us (launch to finished on the device)")
print("60 samples each after 9 warm-up calls; three sets of inputs in turn, warm L2")
for tokens, vocab in [(32, 1000), (128, 4096), (256, 8192)]:
    pool = []
    for _ in range(3):
        logits = torch.randn(tokens, vocab).to(device).requires_grad_()
        target = torch.randint(vocab, (tokens,)).to(device)
        pool.append((logits, target))
    logits, target = pool[0]
    want = F.cross_entropy(logits.detach().cpu().double(), target.cpu()).item()
    assert abs(forward(logits, target).item() - want) < 1e-3
    results = {forward: [], forward_backward: []}
    for fn in results:
        sample(fn, pool, 9)
    for chunk in range(6):
        todo = [forward, forward_backward]
        for fn in (todo if chunk % 2 == 0 else reversed(todo)):
            results[fn] += sample(fn, pool, 10)
    for fn, xs in results.items():
        print(f"[{tokens:4d} x {vocab:5d}] {fn.__name__:17s} {describe(xs)}")
print("forward and forward_backward are different amounts of work; they are listed, not ranked.")
