"""Sustained throughput of the compiled text encoder on our length mix."""
import itertools
import json
import time

import torch
from torch import nn

import labkit  # noqa: F401

LENGTHS = [32, 64, 96]
BATCH = 8


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.ln(x))))


def make_encoder(d=64):
    torch.manual_seed(0)
    net = Block(d).to("npu", torch.float16).eval()
    return torch.compile(net, dynamic=False)


def stream(batches, n):
    yield from itertools.islice(itertools.cycle(batches), n)


@torch.no_grad()
def main():
    enc = make_encoder()
    batches = [torch.randn(BATCH, s, 64, device="npu", dtype=torch.float16) for s in LENGTHS]

    for _ in range(10):
        enc(batches[0])
    torch.npu.synchronize()

    steps, tokens, windows = 12, 0, []
    for _ in range(4):
        tokens = 0
        t0 = time.perf_counter()
        for x in stream(batches, steps):
            enc(x)
            tokens += x.shape[0] * x.shape[1]
        torch.npu.synchronize()
        windows.append(tokens / (time.perf_counter() - t0))

    print(json.dumps({
        "model": "encoder block d=64 fp16, compiled",
        "lengths": LENGTHS,
        "steady_tokens_per_s_mean": round(sum(windows) / len(windows)),
        "steady_tokens_per_s_windows": [round(w) for w in windows],
    }, indent=1))


main()
