"""Greedy decoding with a tiny one-layer decoder: how long do the readers wait?"""
import math

import torch
import torch_npu
from torch.nn import functional as F

BATCH, WIDTH, HEADS, VOCAB = 8, 256, 4, 2000
STEPS, ROUNDS = 24, 5


class Decoder:
    def __init__(self):
        g = torch.Generator().manual_seed(3)
        self.embed = self._weights(g, VOCAB, WIDTH)
        self.qkv = self._weights(g, 3 * WIDTH, WIDTH)
        self.proj = self._weights(g, WIDTH, WIDTH)
        self.up = self._weights(g, 4 * WIDTH, WIDTH)
        self.down = self._weights(g, WIDTH, 4 * WIDTH)

    @staticmethod
    def _weights(g, rows, columns):
        return (torch.randn(rows, columns, generator=g) / math.sqrt(columns)).to("npu")

    def start(self):
        shape = (BATCH, HEADS, STEPS, WIDTH // HEADS)
        self.keys = torch.zeros(shape, device="npu")
        self.values = torch.zeros(shape, device="npu")

    def step(self, tokens, at):
        h = F.embedding(tokens, self.embed)
        q, k, v = F.linear(h, self.qkv).view(BATCH, 3, HEADS, 1, -1).unbind(1)
        self.keys[:, :, at : at + 1] = k
        self.values[:, :, at : at + 1] = v
        scores = q @ self.keys[:, :, : at + 1].transpose(-1, -2) / math.sqrt(q.shape[-1])
        mixed = torch.softmax(scores, -1) @ self.values[:, :, : at + 1]
        h = h + F.linear(mixed.reshape(BATCH, WIDTH), self.proj)
        h = h + F.linear(F.gelu(F.linear(h, self.up)), self.down)
        return F.linear(h, self.embed).argmax(-1)


def generate(model, prompt):
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    model.start()
    begin.record()
    tokens = prompt
    for at in range(STEPS):
        tokens = model.step(tokens, at)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main():
    torch.set_num_threads(1)
    model = Decoder()
    prompt = torch.arange(BATCH, device="npu")
    for _ in range(2):
        generate(model, prompt)
    runs = sorted(generate(model, prompt) for _ in range(ROUNDS))
    ms = runs[ROUNDS // 2]

    tokens = STEPS * BATCH
    print(f"We decode {STEPS} steps for {BATCH} readers at once; middle one of {ROUNDS} runs, {runs[0]:.3f} to {runs[-1]:.3f} ms.")
    print(f"All together receive {tokens / ms * 1e3:,.0f} tokens per second.")
    print(f"From one token to the next a reader waits {ms / tokens * 1e3:.1f} us.")
    print(f"A full answer of {STEPS} tokens is there after {ms:.2f} ms.")


main()
