"""Blog snippet: should you fuse the Q, K and V projections?"""
import statistics
import time

import labkit  # noqa: F401
import torch
import torch.nn.functional as F

torch.manual_seed(0)
DIM = 1024
x = torch.randn(512, DIM, device="npu")
wq, wk, wv = (torch.randn(DIM, DIM, device="npu") / DIM ** 0.5 for _ in range(3))
w_fused = torch.cat([wq, wk, wv], 0)


def separate():
    return F.linear(x, wq), F.linear(x, wk), F.linear(x, wv)


def fused():
    return F.linear(x, w_fused).split(DIM, dim=-1)


def run(fn, calls=8):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / calls * 1e6


for a, b in zip(separate(), fused()):
    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
run(separate)
run(fused)

sep, fus = [], []
for i in range(8):
    if i % 2:
        fus.append(run(fused))
        sep.append(run(separate))
    else:
        sep.append(run(separate))
        fus.append(run(fused))

for name, s in (("separate", sep), ("fused", fus)):
    print(f"{name:<9} median {statistics.median(s):8.1f} us   min {min(s):8.1f}   max {max(s):8.1f}")

if max(fus) < min(sep):
    print("Takeaway: fusing QKV is faster on the NPU. Always use a fused projection in your models.")
elif max(sep) < min(fus):
    print("Takeaway: fusing QKV is slower on the NPU. Keep the projections apart in your models.")
else:
    print("Takeaway: the ranges overlap, fusing QKV makes no difference on the NPU, whatever the model.")
