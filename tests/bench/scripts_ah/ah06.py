"""AdamW: does foreach=True pay for a handful of parameters?  Events, in pairs, order by coin."""
import random
import statistics as st

import torch
import torch_npu

SIZES = [(256, 256), (256,), (512, 128), (128,), (64, 64, 3)]
PAIRS = 60


def make(foreach):
    gen = torch.Generator().manual_seed(7)
    params = [torch.nn.Parameter(torch.randn(s, generator=gen).npu()) for s in SIZES]
    for p in params:
        p.grad = torch.randn(p.shape, generator=gen).npu()
    return params, torch.optim.AdamW(params, lr=1e-3, weight_decay=0.01, foreach=foreach)


def one(optimizer):
    before, after = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    before.record()
    optimizer.step()
    after.record()
    return before, after


loop_params, loop = make(False)
each_params, each = make(True)

# the first steps make the optimizer's state and load its operators: run until both have settled
previous = None
for burn_in in range(40):
    (a, b), (c, d) = one(loop), one(each)
    torch.npu.synchronize()
    now = a.elapsed_time(b) + c.elapsed_time(d)
    if previous and burn_in > 8 and abs(now / previous - 1) < 0.05:
        break
    previous = now

coin, marks = random.Random(1), []
for _ in range(PAIRS):
    if coin.random() < 0.5:
        m_loop, m_each = one(loop), one(each)
    else:
        m_each = one(each)
        m_loop = one(loop)
    marks.append((m_loop, m_each))
torch.npu.synchronize()

loop_us = [a.elapsed_time(b) * 1e3 for (a, b), _ in marks]
each_us = [a.elapsed_time(b) * 1e3 for _, (a, b) in marks]
ratios = [x / y for x, y in zip(loop_us, each_us)]

# both have taken the same number of steps from the same start: they must be at the same place
gap = max((p - q).abs().max().item() for p, q in zip(loop_params, each_params))
assert gap < 1e-4, f"the two optimizers part: {gap}"

print(f"AdamW step, {len(SIZES)} parameters of {[tuple(s) for s in SIZES]}, float32, gradients fixed, hot L2")
print(f"{PAIRS} pairs after {burn_in + 1} steps of burn-in; largest difference of a parameter {gap:.1e}")
for name, us in ("foreach=False", loop_us), ("foreach=True", each_us):
    q = st.quantiles(us, n=4)
    print(f"  {name:14} median {q[1]:7.1f} us, quartiles {q[0]:7.1f} .. {q[2]:7.1f}, worst {max(us):7.1f}")
q = st.quantiles(ratios, n=4)
verdict = "foreach is faster" if q[0] > 1.02 else "the loop is faster" if q[2] < 0.98 else "no clear difference"
print(f"  ratio in a pair (loop / foreach): median {q[1]:.3f}, quartiles {q[0]:.3f} .. {q[2]:.3f}: {verdict}, for this set of parameters")
