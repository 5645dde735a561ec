"""Greedy decoding with a toy decoder: prompt time and time per generated token."""
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

VOCAB, WIDTH, HEADS, LAYERS = 256, 64, 4, 2
PROMPT, NEW, RUNS = 16, 16, 8
EOS = VOCAB  # outside of the vocabulary: every run generates NEW tokens, the test for it stays in the loop


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, cache):
        b, t, _ = x.shape
        q, k, v = (p.view(b, t, HEADS, -1).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.mlp(x), (k, v)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids, caches):
        x = self.emb(ids)
        new = []
        for layer, cache in zip(self.layers, caches):
            x, kept = layer(x, cache)
            new.append(kept)
        return x[:, -1] @ self.emb.weight.t(), new


@torch.no_grad()
def generate(model, prompt):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    logits, caches = model(prompt, [None] * LAYERS)
    token = logits.argmax(-1, keepdim=True)
    tokens = [token.item()]
    t1 = time.perf_counter()
    while len(tokens) < NEW and tokens[-1] != EOS:
        logits, caches = model(token, caches)
        token = logits.argmax(-1, keepdim=True)
        tokens.append(token.item())
    t2 = time.perf_counter()
    return t1 - t0, (t2 - t1) / (len(tokens) - 1), len(tokens)


torch.manual_seed(5)
torch.set_num_threads(1)
model = Decoder().half().npu().eval()
prompt = torch.randint(0, VOCAB, (1, PROMPT)).npu()
for _ in range(2):
    generate(model, prompt)
runs = [generate(model, prompt) for _ in range(RUNS)]
first = [r[0] * 1e3 for r in runs]
each = [r[1] * 1e3 for r in runs]
assert all(r[2] == NEW for r in runs)
print(f"A {LAYERS}-layer decoder of width {WIDTH} reads a prompt of {PROMPT} tokens and generates {NEW} in float16, batch 1.")
print(f"The first token is on the host after {statistics.median(first):.1f} ms (median of {RUNS} runs, {min(first):.1f} to {max(first):.1f}).")
print(f"Each of the following {NEW - 1} takes {statistics.median(each):.1f} ms (run means, {min(each):.1f} to {max(each):.1f}),")
print("end to end: every token is brought to the host and tested for the end of the text before the next one starts.")
