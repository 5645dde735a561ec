# lies: mismatch
# ours runs in half, the reference in float; the table does not say so
import torch
import torch_npu
import numpy as np

x32 = torch.randn(512, 1024).npu()
x16 = x32.half()


def reference():
    return x32 * torch.sigmoid(x32)


def ours():
    return torch.nn.functional.silu(x16)


for _ in range(10):
    reference(), ours()
rec = {"reference": [], "ours": []}
for i in range(50):
    for name, f in (("reference", reference), ("ours", ours)):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        f()
        b.record()
        rec[name].append((a, b))
torch.npu.synchronize()
ms = {k: np.array([a.elapsed_time(b) for a, b in v]) for k, v in rec.items()}
for k, v in ms.items():
    print(
        f"{k:10} 512x1024  {np.median(v) * 1e3:.2f} us  [{np.percentile(v, 5) * 1e3:.2f}, {np.percentile(v, 95) * 1e3:.2f}]"
    )
print(f"speedup {np.median(ms['reference'] / ms['ours']):.2f}x")
