# layer_norm, device time per call, as CSV on stdout:  python ay08.py > layer_norm.csv
import csv
import statistics
import sys

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(512, 1024), (1024, 1024), (1024, 2048)]
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
CALLS_PER_SAMPLE = 10
SAMPLES = 7
L2_MB = 192


def main():
    out = csv.writer(sys.stdout)
    out.writerow(["device", "op", "rows", "hidden", "dtype", "input_state", "samples", "calls_per_sample",
                  "median_us", "min_us", "max_us"])
    for rows, hidden in SHAPES:
        for name, dtype in DTYPES.items():
            x = torch.randn(rows, hidden, device="npu").to(dtype)
            w = torch.ones(hidden, device="npu", dtype=dtype)
            b = torch.zeros(hidden, device="npu", dtype=dtype)
            assert 2 * x.numel() * x.element_size() < L2_MB * 2 ** 20 / 2
            for _ in range(CALLS_PER_SAMPLE):
                F.layer_norm(x, (hidden,), w, b)
            torch.npu.synchronize()

            events = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES + 1)]
            events[0].record()
            for mark in events[1:]:
                for _ in range(CALLS_PER_SAMPLE):
                    F.layer_norm(x, (hidden,), w, b)
                mark.record()
            torch.npu.synchronize()
            us = [left.elapsed_time(right) * 1000 / CALLS_PER_SAMPLE for left, right in zip(events, events[1:])]
            out.writerow([torch.npu.get_device_name(0), "layer_norm", rows, hidden, name,
                          "same tensor each call (L2 warm)", SAMPLES, CALLS_PER_SAMPLE,
                          f"{statistics.median(us):.2f}", f"{min(us):.2f}", f"{max(us):.2f}"])


if __name__ == "__main__":
    main()
