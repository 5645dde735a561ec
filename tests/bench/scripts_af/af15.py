import labkit
import json
import time

import numpy as np
import torch

ROWS, COLUMNS = 128, 256
WARM, SAMPLES, SETS = 50, 300, 8

torch.manual_seed(15)
inputs = [torch.randn(ROWS, COLUMNS, device="npu") for _ in range(SETS)]
expected = torch.softmax(inputs[0].cpu().double(), dim=-1)
assert (torch.softmax(inputs[0], dim=-1).cpu() - expected).abs().max() < 1e-6

for i in range(WARM):
    torch.softmax(inputs[i % SETS], dim=-1)
torch.npu.synchronize()

samples = []
for i in range(SAMPLES):
    x = inputs[i % SETS]
    begin = time.perf_counter_ns()
    torch.softmax(x, dim=-1)
    torch.npu.synchronize()
    samples.append((time.perf_counter_ns() - begin) / 1e3)

p10, p50, p90 = (round(float(v), 2) for v in np.percentile(samples, [10, 50, 90]))
report = {
    "operator": "softmax over the last dimension",
    "shape": [ROWS, COLUMNS],
    "dtype": "float32",
    "l2": "warm, 8 input sets in turn",
    "samples": SAMPLES,
    "warm_up": WARM,
    "kernel_us": {"p10": p10, "p50": p50, "p90": p90},
    "kernel_elements_per_us": round(ROWS * COLUMNS / p50, 1),
}
print(json.dumps(report, indent=2))
print(f"The softmax kernel occupies the device for {p50} us a call (median).")
print("A fused softmax is worth writing only if it runs in less than that.")
