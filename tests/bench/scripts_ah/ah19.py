"""Attention: scaled_dot_product_attention and its parts, samples from a generator."""
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(1, 4, 32, 32), (1, 4, 64, 32), (2, 4, 64, 64)]
SKIP, TAKE = 15, 101


def whole(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def parts(q, k, v):
    n = q.shape[-2]
    mask = parts.masks[n]
    scores = torch.matmul(q, k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1])) + mask
    return torch.matmul(torch.softmax(scores, -1), v)


parts.masks = {n: torch.full((n, n), -torch.inf).triu(1).npu() for n in {s[-2] for s in SHAPES}}


def rounds(operands, functions):
    """Yields for ever, one pair of events for each function; who begins changes with each round."""
    for turn in itertools.count():
        pairs = {}
        for f in functions[turn % 2:] + functions[:turn % 2]:
            pairs[f] = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            pairs[f][0].record()
            f(*operands)
            pairs[f][1].record()
        yield pairs


def samples(shape):
    torch.manual_seed(shape[-1] * shape[-2])
    q, k, v = (torch.randn(shape) for _ in range(3))
    device = [t.npu() for t in (q, k, v)]
    want = whole(q, k, v)
    for f in whole, parts:
        torch.testing.assert_close(f(*device).cpu(), want, rtol=1e-3, atol=1e-4)
    kept = list(itertools.islice(rounds(device, [whole, parts]), SKIP, SKIP + TAKE))
    torch.npu.synchronize()
    for f in whole, parts:
        yield f, np.array([1e3 * r[f][0].elapsed_time(r[f][1]) for r in kept])


print(f"causal attention, forward, float32, hot L2; device time of a call by events, {TAKE} rounds after {SKIP}, taking turns")
print(f"{'batch, heads, n, dim':22} {'way':6} {'P25':>8} {'P50':>8} {'P75':>8} {'max':>8}")
for shape in SHAPES:
    both = dict(samples(shape))
    for f, us in both.items():
        print(f"{str(shape):22} {f.__name__:6} " + " ".join(f"{v:8.2f}" for v in (*np.percentile(us, [25, 50, 75]), us.max())))
    low, mid, high = np.percentile(both[parts] / both[whole], [25, 50, 75])
    print(f"{'':22} parts/whole within a round {mid:.2f} ({low:.2f} .. {high:.2f})")
print("For short sequences only; the mask of 'parts' is made beforehand and not in its time.")
