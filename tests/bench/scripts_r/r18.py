"""Rows of softmax per second, when a service spreads its requests over 1, 2 or 4 streams."""
import random
import statistics

import torch
import torch_npu  # noqa: F401

import labkit

REQUESTS = 16  # in a round, whatever the number of streams
ROUNDS = 7


class Spread:
    """REQUESTS softmaxes of one shape, dealt out to some streams."""

    def __init__(self, shape, streams):
        self.shape = shape
        self.streams = [torch.npu.Stream() for _ in range(streams)]
        self.x = [torch.randn(shape).half().npu() for _ in range(REQUESTS)]
        self.y = [torch.empty_like(x) for x in self.x]
        self.rates = []
        torch.npu.synchronize()

    def issue(self):
        for i, (x, y) in enumerate(zip(self.x, self.y)):
            with torch.npu.stream(self.streams[i % len(self.streams)]):
                torch.softmax(x, -1, out=y)

    def round(self):
        """Clock from the first request given to the last one done, on all streams: rows per second."""
        torch.npu.synchronize()
        start = labkit.device.clock().host_us
        self.issue()
        torch.npu.synchronize()  # the whole device, not one stream
        us = labkit.device.clock().host_us - start
        self.rates.append(REQUESTS * self.shape[0] / us * 1e6)

    def verify(self):
        self.issue()
        torch.npu.synchronize()
        for x, y in zip(self.x, self.y):
            torch.testing.assert_close(y.float().cpu(), torch.softmax(x.float().cpu(), -1), rtol=1e-2, atol=1e-3)

    def summary(self):
        ordered = sorted(self.rates)
        return statistics.median(ordered), ordered[0], ordered[-1]


def main():
    torch.manual_seed(10)
    dice = random.Random(10)
    print("softmax over rows, float16: throughput with host and all waits in it, not the time of one softmax.")
    print(f"{REQUESTS} requests in a round, {ROUNDS} rounds, the numbers of streams take turns in drawn order.")
    print(f"{'request':>12} {'streams':>8} {'million rows/s':>15} {'least':>8} {'most':>8}")
    for shape in ((64, 1024), (256, 1024), (256, 2048)):
        spreads = [Spread(shape, streams) for streams in (1, 2, 4)]
        for spread in spreads:
            spread.verify()
            spread.issue()
        for _ in range(ROUNDS):
            for spread in dice.sample(spreads, len(spreads)):
                spread.round()
        for spread in spreads:
            mid, low, high = (rate / 1e6 for rate in spread.summary())
            print(f"{shape[0]:>5} x {shape[1]:<4} {len(spread.streams):>8} {mid:15.2f} {low:8.2f} {high:8.2f}")


if __name__ == "__main__":
    main()
