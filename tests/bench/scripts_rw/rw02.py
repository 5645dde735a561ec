import collections
import logging
import sys
import time

import numpy as np
import torch
import torch_npu

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname).1s %(name)s | %(message)s")
log = logging.getLogger("dispatch")

KEEP = 300
HBM_BYTES_PER_S = 1.6e12  # data sheet
torch.set_num_threads(1)

small = torch.randn(64, 64, device="npu")
other = torch.randn(64, 64, device="npu")
out = torch.empty_like(small)

# name: (call, bytes it must move on the device)
CALLS = {
    "torch.add(out=)": (lambda: torch.add(small, other, out=out), 3 * small.nbytes),
    "a + b (allocates)": (lambda: small + other, 3 * small.nbytes),
    "out.copy_(a)": (lambda: out.copy_(small), 2 * small.nbytes),
    "a.view(-1), no kernel": (lambda: small.view(-1), 0),
    "softmax": (lambda: torch.softmax(small, -1), 2 * small.nbytes),
}


def issue_times(call):
    ring = collections.deque(maxlen=KEEP)
    for turn in range(KEEP + 50):  # the first 50 fall out of the ring
        torch.npu.synchronize()
        tick = time.perf_counter_ns()
        call()
        tock = time.perf_counter_ns()
        ring.append(tock - tick)
    torch.npu.synchronize()
    return np.array(ring) / 1e3


log.info("host time from calling an operator until Python has it back, 64 x 64 float32")
log.info("the queue is drained before each sample, so no back-pressure; the device's work is NOT waited for and not in the number")
log.info("%d samples each, the first 50 calls dropped", KEEP)
for name, (call, moved) in CALLS.items():
    us = issue_times(call)
    p10, p50, p90 = np.percentile(us, (10, 50, 90))
    log.info("%-22s host p10 %7.2f  p50 %7.2f  p90 %7.2f us", name, p10, p50, p90)
    if moved:
        log.info("%-22s for scale: %d bytes over HBM at the 1.6 TB/s of the data sheet would be %.4f us (computed, not measured)",
                 "", moved, moved / HBM_BYTES_PER_S * 1e6)

ticks = collections.deque(maxlen=KEEP)
for _ in range(KEEP):
    tick = time.perf_counter_ns()
    ticks.append(time.perf_counter_ns() - tick)
log.info("clock read twice with nothing between: p50 %.3f us, still contained in the figures above", np.median(ticks) / 1e3)
