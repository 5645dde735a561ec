"""Throughput of the compiled text tagger over the lengths of our evaluation set."""
import random
import time
from collections import defaultdict

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn

LENGTHS = (48, 64, 96, 128)
BATCH, VOCAB, DIM, TAGS = 4, 2000, 96, 12


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.mix = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, DIM), nn.GELU())
        self.out = nn.Linear(DIM, TAGS)

    def forward(self, ids):
        h = self.embed(ids)
        return self.out(h + self.mix(h))


def window(model, batches):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for ids in batches:
        model(ids)
    torch.npu.synchronize()
    return time.perf_counter() - begin


@torch.inference_mode()
def main(rounds=6, calls=6, warmup=20):
    torch.manual_seed(0)
    random.seed(0)
    data = {n: [torch.randint(0, VOCAB, (BATCH, n), device="npu") for _ in range(calls)]
            for n in LENGTHS}
    model = torch.compile(Tagger().npu().eval(), dynamic=False)

    for _ in range(warmup):
        model(data[LENGTHS[0]][0])

    rates = defaultdict(list)
    tokens = seconds = 0.0
    for _ in range(rounds):
        for n in random.sample(LENGTHS, len(LENGTHS)):
            t = window(model, data[n])
            rates[n].append(BATCH * n * calls / t)
            tokens += BATCH * n * calls
            seconds += t

    print(f"compiled tagger, batch {BATCH}, dim {DIM}, float32, ids on the device, weights warm")
    for n in LENGTHS:
        r = np.array(rates[n])
        print(f"length {n:4d}: mean {r.mean():10.0f} tokens/s, sd {r.std(ddof=1):.0f}, "
              f"min {r.min():.0f}, max {r.max():.0f} ({rounds} windows of {calls} calls)")
    print(f"steady throughput over the mix of lengths: {tokens / seconds:.0f} tokens/s")


main()
