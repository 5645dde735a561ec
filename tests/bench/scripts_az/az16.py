"""layer_norm on data that another part of the model has pushed out of the cache, and on data still in it.

One call a sample: submit, wait, read the host clock.  This is the latency a caller sees who needs the result at
once, launch and wait included; it is not the time of the kernel.
"""
import json
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

ROWS, WIDTH = 512, 1024
SAMPLES = 30
EVICT_BYTES = 256 << 20  # more than the L2 of any chip of this family

torch.set_num_threads(1)
x = torch.randn(ROWS, WIDTH, device="npu", dtype=torch.float16)
gamma = torch.ones(WIDTH, device="npu", dtype=torch.float16)
beta = torch.zeros(WIDTH, device="npu", dtype=torch.float16)
other = torch.empty(EVICT_BYTES, device="npu", dtype=torch.int8)


def evict():
    other.fill_(1)


def touch():
    F.layer_norm(x, (WIDTH,), gamma, beta)


def sample(before):
    before()
    torch.npu.synchronize()
    start = time.perf_counter()
    F.layer_norm(x, (WIDTH,), gamma, beta)
    torch.npu.synchronize()
    return (time.perf_counter() - start) * 1e6


for before in (evict, touch):
    for _ in range(3):
        sample(before)

cold, warm = [], []
for i in range(SAMPLES):
    for sink, before in ((cold, evict), (warm, touch))[:: 1 if i % 2 else -1]:
        sink.append(sample(before))


def summary(us):
    deciles = statistics.quantiles(us, n=10)
    return {"p10": round(deciles[0]), "p50": round(statistics.median(us)), "p90": round(deciles[-1])}


print(json.dumps({
    "op": "layer_norm",
    "shape": [ROWS, WIDTH],
    "dtype": "float16",
    "clock": "host, submit until waited for",
    "samples_each": SAMPLES,
    "evicted_by": f"fill_ of {EVICT_BYTES >> 20} MiB, outside the clock",
    "latency_us_cold": summary(cold),
    "latency_us_warm": summary(warm),
}, indent=2))
