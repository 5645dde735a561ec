"""Tokens per second of a tiny decoder with a key/value cache."""
import torch
import torch_npu
import math
import time

import numpy as np

HEADS, DIM, PROMPT, STEPS, RUNS = 8, 64, 64, 8, 12


class Decoder:
    def __init__(self):
        width = HEADS * DIM
        self.qkv = (torch.randn(width, 3 * width) / math.sqrt(width)).npu()
        self.out = (torch.randn(width, width) / math.sqrt(width)).npu()
        self.keys = torch.zeros(HEADS, PROMPT + STEPS, DIM).npu()
        self.values = torch.zeros(HEADS, PROMPT + STEPS, DIM).npu()

    def split(self, x):
        return (x @ self.qkv).view(-1, 3, HEADS, DIM).permute(1, 2, 0, 3)

    def prefill(self, x):
        q, k, v = self.split(x)
        self.keys[:, :PROMPT].copy_(k)
        self.values[:, :PROMPT].copy_(v)
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(DIM), dim=-1)
        return (weights @ v).transpose(0, 1).reshape(PROMPT, -1) @ self.out

    def decode(self, x, position):
        q, k, v = self.split(x)
        self.keys[:, position : position + 1].copy_(k)
        self.values[:, position : position + 1].copy_(v)
        scores = (self.keys[:, : position + 1] * q).sum(-1) / math.sqrt(DIM)
        weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
        mixed = torch.einsum("hl,hld->hd", weights, self.values[:, : position + 1])
        return torch.tanh(mixed.reshape(1, -1) @ self.out)


torch.manual_seed(4)
decoder = Decoder()
prompt = torch.randn(PROMPT, HEADS * DIM).npu()
for _ in range(10):
    hidden = decoder.prefill(prompt)
token = hidden[-1:].contiguous()
torch.npu.synchronize()

runs = []
for _ in range(RUNS):
    torch.npu.synchronize()
    begin = time.perf_counter()
    x = token
    for step in range(STEPS):
        x = decoder.decode(x, PROMPT + step)
    torch.npu.synchronize()
    runs.append((time.perf_counter() - begin) / STEPS * 1e6)
assert torch.isfinite(x).all()

runs = np.array(runs)
p50, p90 = np.percentile(runs, [50, 90])
half = 1.96 * runs.std(ddof=1) / math.sqrt(RUNS)
print(f"decoder, {HEADS} heads x {DIM}, prompt of {PROMPT}, float32, one sequence, {RUNS} runs of {STEPS} tokens each")
print(f"wall time per token: mean {runs.mean():.1f} +- {half:.1f} us (95%), P50 {p50:.1f} us, P90 {p90:.1f} us")
print(f"throughput over all {RUNS * STEPS} tokens: {1e6 / runs.mean():.1f} tokens/s")
