"""Top-k and median along rows; every sample goes to a CSV table, here its description."""
import argparse
import io
import pandas as pd
import torch
import torch_npu

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, nargs="+", default=[32, 300])
parser.add_argument("--samples", type=int, default=30)
options = parser.parse_args()

class Meter:
    def __init__(self, warm=5):
        self.warm, self.rows = warm, []

    def __call__(self, name, f):
        for _ in range(self.warm):
            f()
        pairs = []
        for _ in range(options.samples):
            pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            pair[0].record()
            f()
            pair[1].record()
            pairs.append(pair)
        torch.npu.synchronize()
        self.rows += [(name, a.elapsed_time(b) * 1e3) for a, b in pairs]

meter = Meter()
for rows in options.rows:
    x = torch.ones(rows, 777, device="npu")
    meter(f"topk8_{rows}x777", lambda: torch.topk(x, 8))
    meter(f"max_{rows}x777", lambda: torch.max(x, 1))
frame = pd.DataFrame(meter.rows, columns=["case", "us"])
frame.to_csv(io.StringIO())
print(frame.groupby("case").us.describe(percentiles=[0.5, 0.9, 0.99]).round(2).to_string())
print("L2 warm; us by events")
