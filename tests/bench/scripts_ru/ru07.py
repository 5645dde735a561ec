"""How long until a batch is on the card, from pageable and from pinned memory."""
import time
from collections import namedtuple

import numpy as np
import torch
import torch_npu

Upload = namedtuple("Upload", "kind first rest")
SHAPE = (32, 3, 96, 96)
COUNT = 40


def upload(host, device):
    t0 = time.perf_counter()
    device.copy_(host, non_blocking=True)
    torch.npu.synchronize()
    return time.perf_counter() - t0


def measure(kind):
    host = torch.randn(SHAPE)
    if kind == "pinned":
        host = host.pin_memory()
    device = torch.zeros(SHAPE, device="npu")
    torch.npu.synchronize()
    first = upload(host, device)
    for _ in range(3):
        upload(host, device)
    rest = np.array([upload(host, device) for _ in range(COUNT)])
    assert torch.equal(device.cpu(), host)
    return Upload(kind, first, rest)


mib = np.prod(SHAPE) * 4 / 2**20
runs = [measure("pageable"), measure("pinned")]
print(f"We send a float32 batch of {SHAPE} ({mib:.2f} MiB) from the host to the NPU, over and over from the same buffer.")
print("Every time given here begins at the call of copy_(non_blocking=True) and ends when torch.npu.synchronize() has come back.")
for run in runs:
    p50, p95 = np.percentile(run.rest, [50, 95]) * 1e3
    print(
        f"From {run.kind} memory the very first upload took {run.first * 1e3:.3f} ms, which is told here once and counted "
        f"nowhere else; of the {len(run.rest)} uploads after three more of warm-up, half were done within {p50:.3f} ms and "
        f"95 % within {p95:.3f} ms, and the median comes to {mib / 1024 / (p50 / 1e3):.2f} GiB/s."
    )
print("The pageable case ran first, so whatever the process needs once for any upload is in its first time, not in that of the pinned one.")
