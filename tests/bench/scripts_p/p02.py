import argparse
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

parser = argparse.ArgumentParser(description="Times relu in place and out of place. All samples are kept.")
parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 65536, 1048576])
parser.add_argument("--repeat", type=int, default=30)
parser.add_argument("--discard", type=int, default=5, help="warm-up rounds that are not recorded")
options = parser.parse_args()

for size in options.sizes:
    data = torch.full((size,), -0.5, device="npu")
    spent = np.zeros(options.repeat)
    for turn in range(-options.discard, options.repeat):
        torch.npu.synchronize()
        t0 = time.monotonic()
        for _ in range(16):
            torch.relu(data)
        torch.npu.synchronize()
        t1 = time.monotonic()
        if turn >= 0:
            spent[turn] = (t1 - t0) / 16
    low, mid, high = np.percentile(spent * 1e6, [5, 50, 95])
    print(f"n={size:>9}  relu  p5={low:.2f}us  p50={mid:.2f}us  p95={high:.2f}us")
