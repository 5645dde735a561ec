"""Forward pass of the bag-of-words encoder; ids on the device, fresh ones for every call."""
import itertools
import time

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn

VOCAB, DIM = 5000, 64


class BagEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCAB, DIM)
        self.project = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, 32))

    def forward(self, ids):
        return self.project(self.table(ids).mean(dim=1))


class Corpus:
    """An endless stream of id batches."""

    def __init__(self, batch, length, seed=0):
        self.shape = batch, length
        self.rng = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            yield torch.randint(0, VOCAB, self.shape, generator=self.rng).npu()


@torch.inference_mode()
def forward_times(model, stream, samples, calls):
    times = np.empty(samples)
    for i in range(samples):
        chunk = itertools.islice(stream, calls)
        torch.npu.synchronize()
        begin = time.perf_counter()
        for ids in chunk:
            model(ids)
        torch.npu.synchronize()
        times[i] = (time.perf_counter() - begin) / calls
    return times * 1e6


def main(samples=50, calls=8):
    torch.manual_seed(0)
    model = BagEncoder().npu().eval()
    print(f"forward of the encoder alone, vocab={VOCAB} dim={DIM} float32")
    for batch, length in [(16, 64), (64, 64), (64, 256)]:
        stream = iter(Corpus(batch, length))
        forward_times(model, stream, 4, calls)
        us = forward_times(model, stream, samples, calls)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        print(f"batch={batch} length={length}: p50 {p50:.1f} us per forward, "
              f"p10 {p10:.1f}, p90 {p90:.1f} ({samples} samples of {calls} calls)")


if __name__ == "__main__":
    main()
