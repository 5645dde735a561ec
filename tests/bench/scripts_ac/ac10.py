"""Inference latency of a small convolution stack as one caller sees it (call and wait)."""
import heapq
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

CALLS = 60


class LatencyLog:
    def __init__(self, size=54):
        self.size = size
        self.values = []

    def extend(self, values):
        self.values = heapq.nsmallest(self.size, [*self.values, *values])

    def line(self):
        ms = np.array(self.values)
        p50, p90, p95 = np.percentile(ms, [50, 90, 95])
        return (f"mean {ms.mean():.3f}  std {ms.std(ddof=1):.3f}  P50 {p50:.3f}  P90 {p90:.3f}  "
                f"P95 {p95:.3f}  max {ms.max():.3f}  n={ms.size}")


def network(channels):
    torch.manual_seed(channels)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, channels, 3, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(channels, channels, 3, padding=1), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10)).eval().npu()


def latencies(net, image, calls):
    for _ in range(calls):
        begin = time.perf_counter()
        net(image)
        torch.npu.synchronize()
        yield (time.perf_counter() - begin) * 1e3


def main():
    with torch.inference_mode():
        for channels, side in ((8, 16), (8, 32), (16, 32)):
            net = network(channels)
            image = torch.randn(1, 3, side, side, device="npu")
            for _ in range(15):
                net(image)
            torch.npu.synchronize()
            log = LatencyLog()
            log.extend(latencies(net, image, CALLS))
            print(f"{channels:2d} channels, {side}x{side}, call to result in ms: {log.line()}")


if __name__ == "__main__":
    main()
