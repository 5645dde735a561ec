"""Our decoder runs attention at one shape only. Is it worth replacing the written-out version there?"""
import math
from contextlib import contextmanager

import numpy as np
import torch
import torch_npu
from torch.nn.functional import scaled_dot_product_attention

B, H, S, D = 1, 8, 256, 64  # the decoder's only shape


def written_out(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(D)
    return torch.softmax(scores, -1) @ v


@contextmanager
def span(into):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    try:
        yield
    finally:
        b.record()
        into.append((a, b))


torch.manual_seed(0)
q, k, v = (torch.randn(B, H, S, D).half().npu() for _ in range(3))
torch.testing.assert_close(written_out(q, k, v).cpu(), scaled_dot_product_attention(q, k, v).cpu(), rtol=1e-2, atol=2e-3)

for _ in range(8):
    written_out(q, k, v)
    scaled_dot_product_attention(q, k, v)
torch.npu.synchronize()

rng = np.random.default_rng(0)
old, new = [], []
for _ in range(36):
    for which in rng.permutation(2):
        with span(new if which else old):
            (scaled_dot_product_attention if which else written_out)(q, k, v)
torch.npu.synchronize()

old, new = (np.array([1e3 * a.elapsed_time(b) for a, b in marks]) for marks in (old, new))
low, mid, high = np.percentile(old / new, [25, 50, 75])
print(f"attention, batch {B}, {H} heads, {S} tokens, head size {D}, fp16, no mask, q/k/v warm in L2")
for name, us in (("written out", old), ("sdpa", new)):
    print(f"  {name:12} P50 {np.percentile(us, 50):6.1f} us   P90 {np.percentile(us, 90):6.1f} us   ({len(us)} samples)")
print(f"at this shape sdpa takes 1/{mid:.2f} of the time (quartiles of the ratio {low:.2f} to {high:.2f}); other shapes were not measured")
