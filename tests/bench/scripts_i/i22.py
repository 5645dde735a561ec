"""Memory bandwidth of a copy that comes from HBM: inputs in turn from 1 GiB, more than the L2 holds."""
import itertools
import numpy as np
import torch
import torch_npu

for mib in (16, 64):
    n = mib * 2**18
    sets = [(torch.empty(n, device="npu"), torch.empty(n, device="npu")) for _ in range(1024 // (2 * mib))]
    turn = itertools.cycle(sets)
    for _ in range(len(sets)):
        a, b = next(turn)
        b.copy_(a)
    ev = []
    for _ in range(40):
        a, b = next(turn)
        s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        s.record()
        b.copy_(a)
        e.record()
        ev.append((s, e))
    torch.npu.synchronize()
    rate = np.array([2 * 4 * n / (s.elapsed_time(e) * 1e-3) / 1e9 for s, e in ev])
    print(f"{mib} MiB: P10 {np.percentile(rate, 10):.0f}, median {np.median(rate):.0f}, P90 {np.percentile(rate, 90):.0f} GB/s")
