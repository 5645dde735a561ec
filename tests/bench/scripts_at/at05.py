"""Greedy decoding, one stream, prompt already on the device: what a client waits for each token.

Every step ends with .item(): the loop has to see the token to test for EOS, so the wait
for the device belongs to the latency and is part of each sample, and so is the copy of
the token back to the device.
"""
import csv
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

VOCAB, DIM, HEADS, LAYERS = 512, 128, 4, 2
PROMPT, NEW, RUNS = 32, 48, 4
EOS = -1  # never drawn: all runs have the same length


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(DIM)
        self.qkv = torch.nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = torch.nn.Linear(DIM, DIM, bias=False)
        self.register_buffer("k", torch.zeros(1, HEADS, PROMPT + NEW, DIM // HEADS))
        self.register_buffer("v", torch.zeros(1, HEADS, PROMPT + NEW, DIM // HEADS))

    def forward(self, x, at):
        n = x.shape[1]
        q, k, v = self.qkv(self.norm(x)).view(1, n, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.k[:, :, at:at + n] = k
        self.v[:, :, at:at + n] = v
        y = F.scaled_dot_product_attention(q, self.k[:, :, :at + n], self.v[:, :, :at + n], is_causal=n > 1)
        return x + self.out(y.transpose(1, 2).reshape(1, n, DIM))


torch.manual_seed(2)
torch.set_num_threads(1)
emb = torch.nn.Embedding(VOCAB, DIM).npu()
layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS)).npu()


def step(ids, at):
    x = emb(ids)
    for layer in layers:
        x = layer(x, at)
    return int((x[:, -1] @ emb.weight.t()).argmax(-1).item())


@torch.no_grad()
def generate(prompt):
    stamps = [time.perf_counter()]
    token = step(prompt, 0)
    stamps.append(time.perf_counter())
    for at in range(PROMPT, PROMPT + NEW - 1):
        token = step(torch.tensor([[token]]).npu(), at)
        stamps.append(time.perf_counter())
        if token == EOS:
            break
    return np.diff(stamps) * 1e3


prompts = torch.randint(0, VOCAB, (RUNS + 1, 1, PROMPT)).npu()
generate(prompts[0])  # a whole generation as warm-up: all lengths have been seen
torch.npu.synchronize()
runs = [generate(prompts[i + 1]) for i in range(RUNS)]

first = np.array([r[0] for r in runs])
later = np.concatenate([r[1:] for r in runs])
total = sum(r.sum() for r in runs)
w = csv.writer(sys.stdout)
w.writerow(["metric", "value", "unit", "samples"])
for what in ("min", "median", "max"):
    w.writerow([f"time_to_first_token_{what}", f"{getattr(np, what)(first):.2f}", "ms", len(first)])
w.writerow(["inter_token_latency_p50", f"{np.percentile(later, 50):.2f}", "ms", len(later)])
w.writerow(["inter_token_latency_p90", f"{np.percentile(later, 90):.2f}", "ms", len(later)])
w.writerow(["tokens_per_second_one_stream_prefill_included", f"{RUNS * NEW / total * 1e3:.0f}", "1/s", RUNS])
