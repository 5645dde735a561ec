import labkit
import numpy as np
import torch
import torch.nn.functional as F

BATCH, HEADS, LENGTH, WIDTH = 1, 8, 128, 64
TARGET_US = 60.0

torch.manual_seed(7)


def inputs():
    return tuple(torch.randn(BATCH, HEADS, LENGTH, WIDTH, device="npu", dtype=torch.float16) for _ in range(3))


SETS = [inputs() for _ in range(6)]


def block(count):
    """`count` calls, one wait behind them; us on the device for each."""
    events = []
    for i in range(count):
        q, k, v = SETS[i % len(SETS)]
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        F.scaled_dot_product_attention(q, k, v, is_causal=True)
        end.record()
        events.append((start, end))
    torch.npu.synchronize()
    return np.array([start.elapsed_time(end) * 1e3 for start, end in events])


q, k, v = SETS[0]
reference = F.scaled_dot_product_attention(q.cpu().float(), k.cpu().float(), v.cpu().float(), is_causal=True)
assert (F.scaled_dot_product_attention(q, k, v, is_causal=True).cpu().float() - reference).abs().max() < 1e-2

# Run until two blocks in a row agree.
last, rounds = np.inf, 0
while rounds < 30:
    now = np.median(block(20))
    rounds += 1
    if abs(now / last - 1) < 0.01:
        break
    last = now

samples = block(40)
p50, p99, p999 = np.percentile(samples, [50, 99, 99.9])
print(f"causal attention, {BATCH} x {HEADS} x {LENGTH} x {WIDTH}, float16, six input sets in turn (warm L2)")
print(f"steady after {rounds} blocks; then P50 {p50:.2f} us, P99 {p99:.2f} us, P99.9 {p999:.2f} us")
verdict = "kept" if p999 < TARGET_US else "broken"
print(f"Tail: 999 of 1000 calls end within {p999:.2f} us. Our objective (P99.9 below {TARGET_US:.0f} us) is {verdict}.")
