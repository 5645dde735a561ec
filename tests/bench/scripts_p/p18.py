"""cumsum after its data was pushed out of the L2: a scratch of 512 MiB is written before each sample."""
import torch
import torch_npu  # noqa: F401

scratch = torch.empty(512 * 2**20, dtype=torch.int8, device="npu")
for rows, cols in ((1024, 1024), (2048, 4096)):
    x = torch.ones(rows, cols, device="npu")
    for _ in range(5):
        torch.cumsum(x, 1)
    marks = []
    for _ in range(30):
        scratch.zero_()
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        torch.cumsum(x, 1)
        b.record()
        marks.append((a, b))
    torch.npu.synchronize()
    us = torch.tensor([a.elapsed_time(b) * 1e3 for a, b in marks])
    rate = 8 * rows * cols / us.median() / 1e3
    print(f"cumsum ({rows}, {cols}) float32, cold L2: median {us.median():.1f} us, std {us.std():.2f}; {rate:.0f} GB/s read and written")
