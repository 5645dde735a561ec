"""Latency table of the normalise-and-project block, for the wiki."""
import time

import pandas as pd
import torch
import torch_npu
from torch import nn

COUNT = 150


class Project(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width // 2)

    def forward(self, x):
        return torch.relu(self.linear(self.norm(x)))


@torch.no_grad()
def record(rows, width):
    block = Project(width).npu().eval()
    x = torch.randn(rows, width, device="npu")
    for _ in range(30):
        block(x)
    torch.npu.synchronize()
    for i in range(COUNT):
        begin = time.perf_counter()
        block(x)
        torch.npu.synchronize()
        yield {"rows": rows, "width": width, "call": i, "us": 1e6 * (time.perf_counter() - begin)}


def rows_of(group):
    q1, q3 = group["us"].quantile([0.25, 0.75])
    return group[group["us"].between(q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1))]


def table(frame):
    calls = pd.concat([rows_of(group) for _, group in frame.groupby(["rows", "width"])])
    us = calls.groupby(["rows", "width"])["us"]
    out = us.agg(mean="mean", std="std", max="max")
    out["p95"] = us.quantile(0.95)
    out["calls"] = us.count()
    return out.round(1)


def main():
    torch.manual_seed(0)
    shapes = [(8, 128), (8, 512), (64, 128), (64, 512)]
    frame = pd.DataFrame([row for shape in shapes for row in record(*shape)])
    print("Latency of one call as the caller sees it (call and wait), us, float32, same input each call")
    print(table(frame).to_string())


if __name__ == "__main__":
    main()
