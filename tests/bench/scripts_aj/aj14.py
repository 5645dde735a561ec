import numpy as np
import torch
import torch_npu

copier = torch.npu.Stream()
SAMPLES = 40


def joined(parts):
    with torch.npu.stream(copier):
        return torch.cat(parts, dim=1)


def sample(parts):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    joined(parts)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3


print("torch.cat along dim 1 on a stream of its own, float32: time that the concatenation takes, in us, from events.")
print("Parts are reused (hot L2).")
for rows, columns, count in ((128, 128, 4), (256, 256, 4), (256, 256, 8), (512, 256, 8)):
    parts = [torch.randn(rows, columns, device="npu") for _ in range(count)]
    torch.npu.synchronize()
    assert joined(parts).shape == (rows, columns * count)
    for _ in range(10):
        joined(parts)
    us = np.array([sample(parts) for _ in range(SAMPLES)])
    q1, q2, q3 = np.percentile(us, [25, 50, 75])
    moved = 2 * 4 * rows * columns * count
    print(f"  {count} parts of {rows} x {columns}: median {q2:7.2f} us (quartiles {q1:.2f}, {q3:.2f}; max {us.max():.2f}), "
          f"{moved / q2 / 1e3:.1f} GB/s read and written")
