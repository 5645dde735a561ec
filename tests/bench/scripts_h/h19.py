"""Layer norm of 4096 x 4096 and 8192 x 4096 floats, by events, warm L2."""
import torch
import torch_npu
import numpy as np

SCALE = 4  # a quick run
for rows, cols in ((4096, 4096), (8192, 4096)):
    x = torch.ones(rows // SCALE, cols // SCALE).npu()
    f = lambda: torch.nn.functional.layer_norm(x, x.shape[-1:])
    for _ in range(10):
        f()
    ev = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(30)]
    for s, e in ev:
        s.record(), f(), e.record()
    torch.npu.synchronize()
    us = np.array([1e3 * s.elapsed_time(e) for s, e in ev])
    print(f"layer_norm {rows} x {cols}: P50 {np.median(us):.1f} us, P99 {np.percentile(us, 99):.1f} us")
