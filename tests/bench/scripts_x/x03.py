import torch
import torch_npu
import argparse
import json

import numpy as np


class SoftmaxBench:
    """Times the softmax operator by device events."""

    def __init__(self, rows, columns):
        self.shape = (rows, columns)
        self.scale = 0.125

    def scores(self):
        return torch.randn(self.shape, device="npu", dtype=torch.float32)

    def step(self):
        x = self.scores()
        return torch.softmax(x, dim=-1)

    def verify(self):
        x = self.scores()
        torch.testing.assert_close(torch.softmax(x, -1).cpu(), torch.softmax(x.cpu(), -1), rtol=1e-4, atol=1e-6)

    def run(self, warmup, calls):
        for _ in range(warmup):
            self.step()
        torch.npu.synchronize()
        pairs = []
        self.step()
        for _ in range(calls):
            pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            pair[0].record()
            self.step()
            pair[1].record()
            pairs.append(pair)
        torch.npu.synchronize()
        return [a.elapsed_time(b) * 1e3 for a, b in pairs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    report = []
    for rows, columns in ((512, 1024), (1024, 1024), (1024, 1536)):
        bench = SoftmaxBench(rows, columns)
        bench.verify()
        runs = [bench.run(args.warmup, args.calls) for _ in range(args.runs)]
        p10, p50, p90 = np.percentile(np.concatenate(runs), [10, 50, 90])
        report.append({
            "operator": "torch.softmax", "dtype": "float32", "shape": [rows, columns],
            "operator_time_us": {"p10": round(p10, 2), "p50": round(p50, 2), "p90": round(p90, 2)},
            "median_of_each_run_us": [round(float(np.median(run)), 2) for run in runs],
            "calls": args.calls * args.runs,
        })
    print(json.dumps(report, indent=2))
    for row in report:
        print(f"softmax alone at {row['shape']}: {row['operator_time_us']['p50']} us on the device (P50)")


if __name__ == "__main__":
    main()
