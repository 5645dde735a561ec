"""Read-and-write bandwidth with a cold cache: a buffer larger than the L2 is rewritten before each sample.

The rewriting happens in front of the first event and is not timed.
"""

import contextlib

import numpy as np
import torch
import torch_npu  # noqa: F401

L2_MIB = 192
SAMPLES = 40
scrub = torch.zeros((L2_MIB + 64) * 2**20 // 4).npu()


@contextlib.contextmanager
def stamped(into):
    scrub.zero_()
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    yield
    end.record()
    into.append((begin, end))


def cold_us(fn):
    for _ in range(5):
        with stamped([]):
            fn()
    torch.npu.synchronize()
    marks = []
    for _ in range(SAMPLES):
        with stamped(marks):
            fn()
    torch.npu.synchronize()
    return np.array([begin.elapsed_time(end) * 1e3 for begin, end in marks])


print(f"negation, float32, cold L2 ({scrub.nbytes >> 20} MiB rewritten before each of {SAMPLES} samples)")
for mib in (8, 24):
    source = torch.ones(mib * 2**18).npu()
    target = torch.empty_like(source)
    us = cold_us(lambda s=source, t=target: torch.neg(s, out=t))
    p10, p50, p90 = np.percentile(us, (10, 50, 90))
    rate = 2 * source.nbytes / p50 / 1e3
    print(f"  {tuple(source.shape)} {mib} MiB: P10 {p10:.1f}  P50 {p50:.1f}  P90 {p90:.1f} us, {rate:.0f} GB/s at P50")
