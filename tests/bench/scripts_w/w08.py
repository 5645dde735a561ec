"""Forward pass of the reranker on its own lane, as the gateway runs it beside the retriever."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch_npu


class Lane:
    """Runs a model on a stream of its own, so that two models do not queue behind each other."""

    def __init__(self, model):
        self.model = model
        self.stream = torch.npu.Stream()

    def submit(self, x):
        self.stream.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(self.stream), torch.no_grad():
            return self.model(x)


class Stopwatch:
    def __init__(self):
        self.laps = []

    def __enter__(self):
        torch.npu.current_stream().synchronize()
        self.begin = time.perf_counter()
        return self

    def __exit__(self, *_):
        torch.npu.current_stream().synchronize()
        self.laps.append(time.perf_counter() - self.begin)


def reranker(width):
    torch.manual_seed(4)
    return nn.Sequential(
        nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width), nn.LayerNorm(width), nn.Linear(width, 1)
    ).eval()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--calls", type=int, default=4)
    args = parser.parse_args()

    host_model = reranker(args.width)
    x = torch.randn(args.rows, args.width)
    with torch.no_grad():
        wanted = host_model(x)
    lane = Lane(reranker(args.width).npu())
    x = x.npu()

    for _ in range(12):
        scores = lane.submit(x)
    torch.npu.synchronize()
    assert torch.allclose(scores.cpu(), wanted, atol=1e-3)

    watch = Stopwatch()
    for _ in range(args.samples):
        torch.npu.synchronize()
        with watch:
            for _ in range(args.calls):
                scores = lane.submit(x)
    torch.npu.synchronize()

    us = 1e6 * np.array(watch.laps) / args.calls
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"reranker, {args.rows} rows of {args.width} float32, {args.calls} passes a sample, {len(us)} samples")
    print(f"time of a pass: P50 {p50:.1f} us  P10 {p10:.1f}  P90 {p90:.1f}  longest {us.max():.1f}")
    print(f"rows a second at this batch: {args.rows / p50 * 1e6:,.0f}")


if __name__ == "__main__":
    main()
