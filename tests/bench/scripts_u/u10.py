"""Decode-loop benchmark: greedy generation with a static KV cache."""
import functools
import math
import time

import labkit  # noqa: F401
import torch
from torch import nn

DIM, HEADS, MAXLEN, VOCAB = 512, 8, 128, 8000


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        out = fn(*args, **kwargs)
        wrapper.seconds = time.perf_counter() - t0
        return out
    return wrapper


class TinyDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, tok, pos, kc, vc):
        b = tok.shape[0]
        q, k, v = self.qkv(self.emb(tok)).view(b, 3, HEADS, -1).unbind(1)
        kc[:, :, pos] = k
        vc[:, :, pos] = v
        keys, vals = kc[:, :, : pos + 1], vc[:, :, : pos + 1]
        att = (q.unsqueeze(2) @ keys.transpose(-1, -2)) / math.sqrt(DIM // HEADS)
        h = (att.softmax(-1) @ vals).reshape(b, DIM)
        return self.out(h).argmax(-1)


@timed
def generate(model, tok, kc, vc, steps):
    toks = []
    for pos in range(steps):
        tok = model(tok, pos, kc, vc)
        toks.append(tok)
    return torch.stack(toks, 1)


def main(batch=16, steps=16):
    model = TinyDecoder().to("npu").eval()
    kc = torch.zeros(batch, HEADS, MAXLEN, DIM // HEADS, device="npu")
    vc = torch.zeros_like(kc)
    prompt = torch.zeros(batch, dtype=torch.long, device="npu")

    with torch.inference_mode():
        generate(model, prompt, kc, vc, steps)
        rates = []
        for _ in range(3):
            generate(model, prompt, kc, vc, steps)
            rates.append(batch * steps / generate.seconds)

    rates.sort()
    print(f"decode, batch {batch}, {steps} new tokens")
    print(f"generation throughput {rates[1]:,.0f} tok/s (min {rates[0]:,.0f}, max {rates[2]:,.0f})")


if __name__ == "__main__":
    main()
