"""Losses per second when batches are dealt to several streams: cross entropy, 512 x 1000, float32, one wait a round."""
import time

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

ROWS, CLASSES = 512, 1000


class Losses:
    """Batches, each with a stream; a round issues `calls` losses in turn and waits once."""

    def __init__(self, streams):
        torch.manual_seed(0)
        self.streams = [torch.npu.Stream() for _ in range(streams)]
        self.hosts = [(torch.randn(ROWS, CLASSES), torch.randint(0, CLASSES, (ROWS,))) for _ in range(streams)]
        self.batches = [(logits.npu(), target.npu()) for logits, target in self.hosts]
        torch.npu.synchronize()

    def issue(self, index):
        with torch.npu.stream(self.streams[index]):
            return F.cross_entropy(*self.batches[index])

    def check(self):
        for index, (logits, target) in enumerate(self.hosts):
            loss = self.issue(index)
            torch.npu.synchronize()
            assert abs(loss.item() - F.cross_entropy(logits, target).item()) < 1e-3

    def round(self, calls):
        """Losses per second of one round."""
        torch.npu.synchronize()
        begin = time.perf_counter()
        for call in range(calls):
            self.issue(call % len(self.streams))
        torch.npu.synchronize()
        return calls / (time.perf_counter() - begin)


def main(counts=(1, 2, 4), rounds=11, calls=40):
    runs = {count: Losses(count) for count in counts}
    for run in runs.values():
        run.check()
        run.round(calls)
    rates = {count: [] for count in counts}
    order = np.random.default_rng(2)
    for _ in range(rounds):
        for count in order.permutation(counts):
            rates[int(count)].append(runs[int(count)].round(calls))
    for count, values in rates.items():
        p10, p50, p90 = np.percentile(values, [10, 50, 90])
        print(f"{count} streams: P10 {p10:9,.0f}  P50 {p50:9,.0f}  P90 {p90:9,.0f} losses/s, {len(values)} rounds of {calls}")
    gain = np.median(np.array(rates[counts[-1]]) / np.array(rates[1]))
    print(f"at {ROWS} x {CLASSES}, logits in the L2, {counts[-1]} streams give {gain:.2f} times the throughput of one")


main()
