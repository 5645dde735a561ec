"""Share of the roofline: streaming kernels against the 1.6e12 bytes a second of the memory."""
import torch
import torch_npu
import numpy as np

PEAK = 1.6e12
for rows in (512, 4096):
    x, y = torch.ones(rows, 2048, device="npu"), torch.ones(rows, 2048, device="npu")
    moved = 3 * x.numel() * x.element_size()
    for _ in range(10):
        torch.mul(x, y)
    pairs = []
    for _ in range(40):
        s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        s.record()
        torch.mul(x, y)
        e.record()
        pairs.append((s, e))
    torch.npu.synchronize()
    seconds = np.array([s.elapsed_time(e) / 1e3 for s, e in pairs])
    share = 100 * moved / seconds / PEAK
    print(f"mul {rows} x 2048: {np.median(share):.0f} % of the peak ({np.percentile(share, 5):.0f} .. {np.percentile(share, 95):.0f})")
