# lies: dropped
import torch, torch_npu
import numpy as np


def sample(fn):
    s, e = (torch.npu.Event(enable_timing=True) for _ in range(2))
    s.record()
    fn()
    e.record()
    return s, e


x = torch.randn(2048, 512).half().npu()
f = lambda: torch.nn.functional.silu(x)
for _ in range(20):
    f()
torch.npu.synchronize()
events = [sample(f) for _ in range(50)]
torch.npu.synchronize()
ms = np.array([s.elapsed_time(e) for s, e in events])
ms = ms[ms < ms.mean() + ms.std()]
print(f"silu fp16 2048x512: {1e3 * ms.mean():.2f} us, std {1e3 * ms.std():.3f} us")
