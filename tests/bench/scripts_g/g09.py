"""HBM bandwidth of an elementwise kernel. The L2 (192 MiB) is overwritten before every sample."""

import numpy as np
import torch
import torch_npu  # noqa: F401

L2_BYTES = 192 << 20
trash = torch.empty(3 * L2_BYTES // 8, dtype=torch.float32, device="npu")


def cold_samples(kernel, count):
    for _ in range(3):
        trash.zero_()
        kernel()
    torch.npu.synchronize()
    spans = []
    for _ in range(count):
        trash.zero_()  # in front of the first event: not timed
        start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        kernel()
        stop.record()
        spans.append((start, stop))
    torch.npu.synchronize()
    return np.array([start.elapsed_time(stop) / 1e3 for start, stop in spans])


for elements in (1 << 21, 1 << 22, 1 << 23):
    source = torch.rand(elements).npu()
    target = torch.empty_like(source)
    seconds = cold_samples(lambda s=source, t=target: torch.neg(s, out=t), count=20)
    moved = 2 * 4 * elements
    slow, typical, fast = moved / np.percentile(seconds, [90, 50, 10]) / 1e9
    print(
        f"neg float32[{elements}], cold L2: {np.median(seconds) * 1e6:.1f} us, "
        f"{typical:.0f} GB/s ({slow:.0f} to {fast:.0f}: P90 and P10 of the time, {len(seconds)} samples)"
    )
