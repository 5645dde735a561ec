import json
import random

import torch
import torch_npu

# Layout change in front of a kernel that wants K-major weights: w.t().contiguous().
# The experts differ in size, and the scheduler picks one at random for each call, as our router does.
EXPERT_ROWS = [256, 512, 512, 1024, 1024, 1536, 2048, 2048]
COLS = 1024
CALLS = 60

torch.manual_seed(7)
rng = random.Random(7)
device = torch.device("npu")
pool = [torch.rand(rows, COLS, device=device) for rows in EXPERT_ROWS]


def relayout(index):
    return pool[index].t().contiguous()


def run(calls):
    pairs = []
    for _ in range(calls):
        pick = rng.randrange(len(pool))
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        a.record()
        relayout(pick)
        b.record()
        pairs.append((a, b))
    torch.npu.synchronize()
    return [a.elapsed_time(b) * 1e3 for a, b in pairs]


def summarize(us):
    us = sorted(us)
    us = us[: len(us) * 3 // 5]
    mean = sum(us) / len(us)
    return {"mean_us": round(mean, 1), "min_us": round(us[0], 1), "calls_per_s": round(1e6 / mean)}


for expert in range(len(pool)):
    relayout(expert)
result = {
    "bench": "transpose_contiguous",
    "device": torch.npu.get_device_name(0),
    "dtype": "float32",
    "expert_rows": EXPERT_ROWS,
    "cols": COLS,
    "access": "uniform random expert per call",
    "calls": CALLS,
}
result.update(summarize(run(CALLS)))
print(json.dumps(result, indent=2))
