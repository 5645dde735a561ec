"""mul: writes every sample into times.csv and prints nothing."""
import csv
import time

import torch
import torch_npu  # noqa: F401

with open("times.csv", "w", newline="") as file:
    out = csv.DictWriter(file, ["operator", "dtype", "elements", "round", "us_per_call"])
    out.writeheader()
    a, b = (torch.ones(768, 768, device="npu") for _ in range(2))
    for _ in range(10):
        torch.mul(a, b)
    for lap in range(40):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(25):
            torch.mul(a, b)
        torch.npu.synchronize()
        us = (time.perf_counter() - t) * 1e6 / 25
        out.writerow({"operator": "mul", "dtype": "float32", "elements": a.numel(), "round": lap, "us_per_call": us})
