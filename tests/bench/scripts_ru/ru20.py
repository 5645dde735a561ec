"""Greedy decoding with a toy decoder: milliseconds per token."""
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

VOCAB, DIM, HEADS, NEW = 512, 128, 4, 16
CASES = {
    "short/1": dict(batch=1, context=16),
    "short/4": dict(batch=4, context=16),
    "long/1": dict(batch=1, context=96),
    "long/4": dict(batch=4, context=96),
}


class Toy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(VOCAB, DIM)
        self.qkv = torch.nn.Linear(DIM, 3 * DIM)
        self.out = torch.nn.Linear(DIM, DIM)
        self.head = torch.nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, token, keys, values, position):
        b = token.shape[0]
        h = self.emb(token)
        q, k, v = self.qkv(h).view(b, 3, HEADS, DIM // HEADS).unbind(1)
        keys[:, :, position] = k
        values[:, :, position] = v
        a = F.scaled_dot_product_attention(q.unsqueeze(2), keys[:, :, : position + 1], values[:, :, : position + 1])
        return self.head(h + self.out(a.reshape(b, DIM))).argmax(-1)


@torch.no_grad()
def generate(model, batch, context):
    """[(host s, event pair)] per new token; the token is read back before the next one begins."""
    cache = [torch.randn(batch, HEADS, context + NEW, DIM // HEADS, device="npu") for _ in range(2)]
    token = torch.zeros(batch, dtype=torch.long, device="npu")
    laps = []
    torch.npu.synchronize()
    for i in range(NEW):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        t = time.perf_counter()
        a.record()
        token = model(token, *cache, context + i)
        b.record()
        token.tolist()
        laps.append((time.perf_counter() - t, a, b))
    return [(s * 1e3, a.elapsed_time(b)) for s, a, b in laps]


torch.manual_seed(0)
model = Toy().npu().eval()
print(f"ms/token, {NEW} tokens x 2 runs, the run before them discarded. host = step + read-back of the token (a wait, as")
print("greedy decoding has it); dev = event before the step to event behind argmax, gaps in, read-back out. float32, kv in place")
print("case      b  ctx  host50  host90   dev50   tok/s")
for name, case in CASES.items():
    generate(model, **case)
    host, dev = np.array(generate(model, **case) + generate(model, **case)).T
    h50, h90 = np.percentile(host, [50, 90])
    rate = case["batch"] * host.size / host.sum() * 1e3
    print(f"{name:8} {case['batch']:2} {case['context']:4} {h50:7.3f} {h90:7.3f} {np.median(dev):7.3f} {rate:7.0f}")
print("b sequences, ctx: cached positions at the start; tok/s: all sequences, all counted steps over their summed host time")
