"""bmm on 1, 2 and 3 streams: products a millisecond, and what a product takes on its own stream."""
import time

import numpy as np
import torch
import torch_npu

BATCH, M, K, N = 4, 64, 64, 64
PRODUCTS, ROUNDS = 12, 21
LANES = (1, 2, 3)

torch.manual_seed(77)
left, right = torch.randn(PRODUCTS, BATCH, M, K), torch.randn(PRODUCTS, BATCH, K, N)
a, b = [t.npu() for t in left], [t.npu() for t in right]
out = [torch.empty(BATCH, M, N, device="npu") for _ in range(PRODUCTS)]
pool = [torch.npu.Stream() for _ in range(max(LANES))]
torch.npu.synchronize()    # the streams start behind the inputs


def share(streams):
    """All products, dealt out to the streams; -> (us until the last is done, pairs of events of each product)"""
    torch.npu.synchronize()
    pairs = []
    t = time.perf_counter()
    for i in range(PRODUCTS):
        with torch.npu.stream(streams[i % len(streams)]):
            begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            begin.record()
            torch.bmm(a[i], b[i], out=out[i])
            end.record()
            pairs.append((begin, end))
    for s in streams:
        s.synchronize()
    return (time.perf_counter() - t) * 1e6, pairs


want = torch.matmul(left, right)
for n in LANES:
    for o in out:
        o.zero_()
    for _ in range(4):
        share(pool[:n])
    got = torch.stack([o.cpu() for o in out])
    assert torch.allclose(got, want, rtol=1e-2, atol=5e-2), n

whole, single = {n: [] for n in LANES}, {n: [] for n in LANES}
rng = np.random.default_rng(8)
for _ in range(ROUNDS):
    for n in rng.permutation(LANES).tolist():
        us, pairs = share(pool[:n])
        whole[n].append(us)
        single[n] += [1e3 * begin.elapsed_time(end) for begin, end in pairs]

print(f"bmm [{BATCH}, {M}, {K}] x [{BATCH}, {K}, {N}], float32, {PRODUCTS} products with inputs of their own (hot L2), {ROUNDS} rounds, drawn order")
print(f"{'streams':>8} {'all, us':>9} {'[q1, q3]':>20} {'products/ms':>12} {'one, us':>9} {'[P10, P90]':>20}")
for n in LANES:
    q1, q2, q3 = np.percentile(whole[n], [25, 50, 75])
    p10, p50, p90 = np.percentile(single[n], [10, 50, 90])
    print(f"{n:>8} {q2:>9.1f} {f'[{q1:.1f}, {q3:.1f}]':>20} {1e3 * PRODUCTS / q2:>12.1f} {p50:>9.2f} {f'[{p10:.2f}, {p90:.2f}]':>20}")
gain = np.array(whole[1]) / np.array(whole[max(LANES)])
print(f"1 stream / {max(LANES)} streams within a round: {np.median(gain):.2f} (from {gain.min():.2f} to {gain.max():.2f}). 'All' has the issuing and the wait for {PRODUCTS} products in it,")
print("'one' is the time between two events on the product's own stream. One size, so no more is said than for this one.")
