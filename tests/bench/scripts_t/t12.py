"""Greedy decode of a one-layer toy decoder: tokens per second per sequence.

The loop stays on the device (argmax feeds the next embedding), and so there is
one wait at the end of a generation and none in between. Prompt handling and the
warm-up generation are outside of the figure.
"""
from contextlib import contextmanager
import math
import statistics

import torch
from torch import nn

import labkit  # noqa: F401

D, HEADS, VOCAB, MAXLEN = 128, 4, 512, 48


class Decoder(nn.Module):
    def __init__(self, batch):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, D)
        self.qkv = nn.Linear(D, 3 * D)
        self.out = nn.Linear(D, D)
        self.head = nn.Linear(D, VOCAB)
        shape = (batch, HEADS, MAXLEN, D // HEADS)
        self.register_buffer("k", torch.zeros(shape))
        self.register_buffer("v", torch.zeros(shape))

    def forward(self, tok, pos):
        x = self.emb(tok)
        q, k, v = self.qkv(x).view(tok.shape[0], 3, HEADS, 1, D // HEADS).unbind(1)
        self.k[:, :, pos:pos + 1] = k
        self.v[:, :, pos:pos + 1] = v
        att = q @ self.k[:, :, :pos + 1].transpose(-1, -2) / math.sqrt(D // HEADS)
        y = (att.softmax(-1) @ self.v[:, :, :pos + 1]).reshape(tok.shape[0], D)
        return self.head(x + self.out(y)).argmax(-1)


@contextmanager
def device_timer(sink):
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    a.record()
    yield
    b.record()
    b.synchronize()
    sink.append(a.elapsed_time(b) / 1e3)


def generate(net, tok, steps):
    for pos in range(steps):
        tok = net(tok, pos)
    return tok


@torch.inference_mode()
def main():
    steps = 12
    print("batch   tok/s per sequence: median (min .. max) of generations")
    for batch in (1, 8):
        net = Decoder(batch).to("npu").eval()
        first = torch.zeros(batch, dtype=torch.long, device="npu")
        generate(net, first, steps)
        secs = []
        for _ in range(5):
            with device_timer(secs):
                generate(net, first, steps)
        r = [steps / s for s in secs]
        print(f"{batch:5d}   {statistics.median(r):9.1f} ({min(r):.1f} .. {max(r):.1f}), {len(r)} generations of {steps} tokens")


main()
