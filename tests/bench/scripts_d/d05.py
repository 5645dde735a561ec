# lies: mismatch
# bf16 in the report, float32 in the tensors: the cast is thrown away
import torch
import torch_npu
import numpy as np

for rows in (64, 1024):
    x = torch.rand(rows, 256, device="npu")
    x.to(torch.bfloat16)
    for _ in range(20):
        torch.softmax(x, -1)
    ev = []
    for _ in range(40):
        s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        s.record()
        torch.softmax(x, -1)
        e.record()
        ev.append((s, e))
    torch.npu.synchronize()
    t = [s.elapsed_time(e) * 1e3 for s, e in ev]
    print(f"softmax bf16 {rows}x256: {np.median(t):.2f} us (P90 {np.percentile(t, 90):.2f})")
