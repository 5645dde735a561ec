import json
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(64, 128), (64, 1024), (512, 256)]
LOOP = 25
REPEATS = 7


def measure(call):
    for _ in range(LOOP):
        call()
    torch.npu.synchronize()

    per_call = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(LOOP):
            call()
        torch.npu.synchronize()
        per_call.append((time.perf_counter() - begin) * 1e6 / LOOP)
    return per_call


def main():
    torch.manual_seed(7)
    report = {
        "op": "torch.nn.functional.layer_norm",
        "dtype": "float32",
        "device": torch.npu.get_device_name(0),
        "clock": "host perf_counter, one synchronize behind each loop",
        "calls_per_loop": LOOP,
        "loops": REPEATS,
        "unit": "us per call, host issue included",
        "cache": "same tensor every call, stays in L2",
        "rows": [],
    }
    for rows, width in SHAPES:
        x = torch.randn(rows, width).npu()
        gamma, beta = torch.ones(width).npu(), torch.zeros(width).npu()
        laps = measure(lambda: F.layer_norm(x, (width,), gamma, beta))
        report["rows"].append({
            "shape": [rows, width],
            "median": round(statistics.median(laps), 1),
            "best_of_7": round(min(laps), 1),
            "worst_of_7": round(max(laps), 1),
        })
    print(json.dumps(report, indent=1))


main()
