"""Row sums of requests of mixed sizes: what the device keeps up for a fixed duration."""
import random
import time

import torch
import torch_npu

DEV = "npu"
DURATION = 0.006       # seconds of each run
RUNS = 5
COLS = 1024
ROWS = [8, 32, 128, 512, 2048]

rng = random.Random(13)
torch.manual_seed(13)
requests = {r: torch.randn(r, COLS).to(DEV) for r in ROWS}

for r, x in requests.items():
    torch.testing.assert_close(x.sum(dim=1).cpu(), x.cpu().sum(dim=1), atol=1e-3, rtol=1e-3)
    for _ in range(10):
        x.sum(dim=1)
torch.npu.synchronize()


def serve(duration):
    """Requests one after the other until the time is over; the latency of each, and its bytes."""
    latencies, nbytes = [], 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < duration:
        x = requests[rng.choice(ROWS)]
        t0 = time.perf_counter()
        x.sum(dim=1)
        torch.npu.synchronize()
        latencies.append(time.perf_counter() - t0)
        nbytes += x.numel() * x.element_size()
    return latencies, nbytes, time.perf_counter() - begin


all_latencies, rates, calls = [], [], []
for _ in range(RUNS):
    lat, nbytes, took = serve(DURATION)
    all_latencies += lat
    rates.append(nbytes / took / 1e9)
    calls.append(len(lat) / took)

print(f"x.sum(dim=1), float32, {COLS} columns, rows drawn evenly from {ROWS} (inputs resident, cache warm)")
print(f"{RUNS} runs of {DURATION * 1e3:.0f} ms, requests one at a time")
print(f"A request takes {sum(all_latencies) / len(all_latencies) * 1e6:.4f} us.")
print(f"The device delivers {sum(calls) / RUNS:.3f} requests/s, or {sum(rates) / RUNS:.5f} GB/s read.")
