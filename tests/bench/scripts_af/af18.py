import labkit
from collections import deque

import numpy as np
import torch

# Sustained rate of a sum over data that comes from HBM: as many calls as fit into a window of time,
# eight in flight, so that the device always has something to do and the host does not run away.
MIB, BUFFERS, DEPTH = 32, 8, 8  # 256 MiB in turn; the L2 holds 192 MiB
WINDOW_US, WINDOWS = 2000.0, 5

torch.manual_seed(18)
buffers = [torch.rand((MIB << 20) // 4, device="npu") for _ in range(BUFFERS)]


def now():
    """The host's clock of the machine that has the card (modelled), us."""
    return labkit.device.clock().host_us


def window(length_us):
    """(calls done, us from the first issue until all of them are done)"""
    flying, done = deque(), 0
    begin = now()
    while now() - begin < length_us:
        buffers[done % BUFFERS].sum()
        done += 1
        mark = torch.npu.Event()
        mark.record()
        flying.append(mark)
        if len(flying) == DEPTH:
            flying.popleft().synchronize()
    torch.npu.synchronize()
    return done, now() - begin


for x in buffers:
    assert abs(x.sum().item() / x.cpu().double().sum().item() - 1) < 1e-4

window(WINDOW_US)  # warm-up
taken = [window(WINDOW_US) for _ in range(WINDOWS)]

bytes_read = buffers[0].nbytes
rates = np.array([done / us * 1e6 for done, us in taken])  # calls a second
low, mid, high = np.percentile(rates, [0, 50, 100])
print(f"sum of {MIB} MiB float32, {BUFFERS} buffers in turn ({MIB * BUFFERS} MiB), so that none is in the L2 when its turn comes")
print(f"{WINDOWS} windows of {WINDOW_US / 1e3:.0f} ms and {min(d for d, _ in taken)} to {max(d for d, _ in taken)} calls, all waited for, behind one of warm-up")
print(f"sustained: {mid:,.0f} sums a second (slowest window {low:,.0f}, fastest {high:,.0f})")
print(f"read from HBM: {mid * bytes_read / 1e9:.0f} GB/s; a window contains the host's issue and its last wait")
