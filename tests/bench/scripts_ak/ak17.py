"""conv2d latency as JSON on standard output, with all samples, so that others can draw their own conclusions."""
import json
import time

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

CASES = [
    {"name": "stem", "x": [2, 3, 64, 64], "w": [16, 3, 3, 3], "stride": 2, "padding": 1},
    {"name": "body", "x": [2, 32, 28, 28], "w": [32, 32, 3, 3], "stride": 1, "padding": 1},
    {"name": "point", "x": [4, 64, 28, 28], "w": [64, 64, 1, 1], "stride": 1, "padding": 0},
]
WARMUP, SAMPLES, INPUTS = 10, 50, 5


def latency_us(x, w, case):
    torch.npu.synchronize()
    start = time.perf_counter_ns()
    F.conv2d(x, w, stride=case["stride"], padding=case["padding"])
    torch.npu.synchronize()
    return (time.perf_counter_ns() - start) / 1000


def run(case):
    gen = torch.Generator().manual_seed(5)
    xs = [torch.randn(case["x"], generator=gen).to("npu") for _ in range(INPUTS)]
    w = torch.randn(case["w"], generator=gen).to("npu")

    y = F.conv2d(xs[0], w, stride=case["stride"], padding=case["padding"]).cpu()
    ref = F.conv2d(xs[0].cpu(), w.cpu(), stride=case["stride"], padding=case["padding"])
    error = ((y - ref).abs().max() / ref.abs().max()).item()
    if error > 5e-3:
        raise SystemExit(f"{case['name']}: conv2d is off by {error}")

    for i in range(WARMUP):
        latency_us(xs[i % INPUTS], w, case)
    us = [latency_us(xs[i % INPUTS], w, case) for i in range(SAMPLES)]
    q = torch.tensor(us, dtype=torch.float64).quantile(torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)).tolist()
    return {
        **case,
        "output": list(y.shape),
        "relative_error": error,
        "latency_us": {"p10": q[0], "p50": q[1], "p90": q[2], "min": min(us), "max": max(us)},
        "samples_us": [round(t, 3) for t in us],
    }


result = {
    "what": "latency of one F.conv2d call on an idle device: launch, kernels and the wait, host clock",
    "unit": "microseconds",
    "dtype": "float32",
    "device": torch.npu.get_device_name(0),
    "torch": torch.__version__,
    "cache": f"warm: {INPUTS} inputs go round, the weight stays",
    "warmup_calls": WARMUP,
    "samples": SAMPLES,
    "left_out": 0,
    "cases": [run(case) for case in CASES],
}
print(json.dumps(result, indent=1))
for case in result["cases"]:
    lat = case["latency_us"]
    print(f"conv2d {case['name']}: p50 {lat['p50']:.2f} us, p10 {lat['p10']:.2f}, p90 {lat['p90']:.2f}")
