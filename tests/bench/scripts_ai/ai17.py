"""Copies to, on and from the device, as JSON: bytes, decimal and binary rates, pageable and pinned host memory."""
import json
from functools import partial

import numpy as np
import torch
import torch_npu

SAMPLES, WARM = 60, 6


def stamped(copy):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    copy()
    b.record()
    return a, b


def put(target, source, asynchronous):
    target.copy_(source, non_blocking=asynchronous)


def routes(n):
    values = torch.arange(n, dtype=torch.float32)
    pageable, pinned = values.clone(), values.clone().pin_memory()
    back, back_pinned = torch.empty(n), torch.empty(n).pin_memory()
    device, other = values.npu(), torch.empty(n, device="npu")
    yield "host to device, pageable", other, pageable, False
    yield "host to device, pinned, non_blocking", other, pinned, True
    yield "device to device", other, device, False
    yield "device to host, pageable", back, device, False
    yield "device to host, pinned, non_blocking", back_pinned, device, True


def describe(us, moved):
    low, mid, high = np.percentile(us, [10, 50, 90])
    return {
        "us": {"p10": round(low, 2), "p50": round(mid, 2), "p90": round(high, 2), "max": round(us.max(), 2)},
        "payload_bytes": moved,
        "payload_GB_per_s_at_p50": round(moved / mid / 1e3, 3),                     # 10^9 bytes
        "payload_GiB_per_s_at_p50": round(moved / 2**30 / (mid * 1e-6), 3),         # 2^30 bytes
        "payload_Gbit_per_s_at_p50": round(8 * moved / mid / 1e3, 2),
    }


report = []
for n in 1 << 14, 1 << 17, 1 << 19:
    runs = []
    for name, target, source, asynchronous in routes(n):
        target.fill_(-1.0)
        copy = partial(put, target, source, asynchronous)
        for _ in range(WARM):
            copy()
        torch.npu.synchronize()
        assert torch.equal(target.cpu(), torch.arange(n, dtype=torch.float32)), name
        runs.append((name, copy, []))
    for _ in range(SAMPLES):                 # all ways in each round
        for _, copy, marks in runs:
            marks.append(stamped(copy))
    torch.npu.synchronize()
    for name, _, marks in runs:
        us = np.array([1e3 * a.elapsed_time(b) for a, b in marks])
        report.append({"way": name, "elements": n, "dtype": "float32", "samples": len(us), **describe(us, 4 * n)})

print(json.dumps({
    "what": "time between two events of the stream around one copy; payload counted once, also where it is read and written",
    "memory": "the same buffers in each sample: device side in the L2; a blocking copy has the host's return in it",
    "device": torch.npu.get_device_name(),
    "copies": report,
}, indent=1))
