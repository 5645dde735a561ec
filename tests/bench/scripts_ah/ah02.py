import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

CASES = [
    dict(n=1, c_in=8, c_out=8, hw=16, k=3),
    dict(n=2, c_in=8, c_out=16, hw=16, k=3),
    dict(n=2, c_in=16, c_out=16, hw=24, k=1),
]
CALLS = 200


def operands(case):
    gen = torch.Generator().manual_seed(case["hw"] + case["c_out"])
    image = torch.randn(case["n"], case["c_in"], case["hw"], case["hw"], generator=gen)
    weight = torch.randn(case["c_out"], case["c_in"], case["k"], case["k"], generator=gen)
    return image, weight


def measure(case):
    image, weight = operands(case)
    pad = case["k"] // 2
    dev_image, dev_weight = image.npu(), weight.npu()
    for _ in range(25):
        result = F.conv2d(dev_image, dev_weight, padding=pad)
    torch.npu.synchronize()
    error = (result.cpu() - F.conv2d(image, weight, padding=pad)).abs().max().item()

    took = np.empty(CALLS)
    for i in range(CALLS):
        t0 = time.perf_counter_ns()
        F.conv2d(dev_image, dev_weight, padding=pad)
        torch.npu.synchronize()
        took[i] = (time.perf_counter_ns() - t0) / 1e3
    flop = 2 * result.numel() * case["c_in"] * case["k"] ** 2
    p10, p50, p90 = np.percentile(took, [10, 50, 90])
    return {
        "case": case,
        "dtype": "float32",
        "inputs": "the same in each call (hot L2)",
        "calls": CALLS,
        "conv2d_kernel_us": {"p10": round(p10, 2), "p50": round(p50, 2), "p90": round(p90, 2), "max": round(took.max(), 2)},
        "gflops_of_the_kernel": round(flop / p50 / 1e3, 2),
        "max_error_to_cpu": error,
    }


json.dump({"operator": "conv2d", "device": torch.npu.get_device_name(), "results": [measure(c) for c in CASES]},
          sys.stdout, indent=1)
print()
