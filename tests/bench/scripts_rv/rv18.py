"""What a launch costs the Python side. Deliberately small tensors; deliberately no wait while the clock runs."""
import logging
import sys
import time

import torch
import torch_npu

logger = logging.getLogger("dispatch")
logger.addHandler(logging.StreamHandler(sys.stdout))
logger.setLevel("INFO")

LAUNCHES, ROUNDS = 64, 25  # far below the depth of the task queue

x = torch.ones(32, 32, device="npu")
y = torch.ones(32, 32, device="npu")
out = torch.empty_like(x)
CALLS = {
    "x + y": lambda: x + y,
    "torch.add(x, y, out=out)": lambda: torch.add(x, y, out=out),
    "x.add_(1)": lambda: x.add_(1),
    "x.view(-1)": lambda: x.view(-1),
}


def burst(call):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    a.record()
    t0 = time.perf_counter_ns()
    for _ in range(LAUNCHES):
        call()
    t1 = time.perf_counter_ns()
    b.record()
    torch.npu.synchronize()
    return (t1 - t0) / LAUNCHES / 1e3, a.elapsed_time(b) * 1e3 / LAUNCHES


def nothing():
    pass


loop = torch.tensor([burst(nothing)[0] for _ in range(ROUNDS)]).median().item()
logger.info("host cost of issuing, per call; %d calls into an empty queue per round, %d rounds, float32 32x32", LAUNCHES, ROUNDS)
logger.info("an empty Python call in the same loop: %.3f us (contained in the figures)", loop)
for name, call in CALLS.items():
    for _ in range(2):
        burst(call)
    host, stream = torch.tensor([burst(call) for _ in range(ROUNDS)], dtype=torch.float64).T
    low, mid, high = torch.quantile(host, torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)).tolist()
    logger.info("%-26s host %8.2f us (10%%..90%%: %.2f..%.2f) | first to last event on the stream, per call: %.2f us",
                name, mid, low, high, stream.median().item())
logger.info("the host column says nothing of how long the card works; a view launches nothing, so its stream column is idle time of the stream")
