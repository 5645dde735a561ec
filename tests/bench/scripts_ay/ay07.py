"""Decode attention: how much of the HBM bandwidth do we get when the KV cache is read?

One new token per sequence attends to a context of CONTEXT tokens; that is a pure read of K and V.
"""
import logging

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="[%(name)s] %(message)s")
log = logging.getLogger("decode")

BATCH, HEADS, CONTEXT, DIM = 4, 8, 2048, 128
NEW_TOKENS = 16
REPEATS = 3


class Decoder:
    def __init__(self):
        g = torch.Generator().manual_seed(11)
        kv = (BATCH * HEADS, CONTEXT, DIM)
        self.k = torch.randn(kv, generator=g).npu()
        self.v = torch.randn(kv, generator=g).npu()
        self.q = torch.randn(BATCH * HEADS, 1, DIM, generator=g).npu()
        self.scale = DIM ** -0.5

    def step(self, q):
        scores = torch.bmm(q, self.k.transpose(1, 2)) * self.scale
        return torch.bmm(torch.softmax(scores, dim=-1), self.v)

    def generate(self, tokens):
        q = self.q
        for _ in range(tokens):
            q = self.step(q)
        return q

    @property
    def kv_bytes(self):
        return 4 * (self.k.numel() + self.v.numel())


def main():
    dec = Decoder()
    dec.generate(4)
    torch.npu.synchronize()
    times = []
    for _ in range(REPEATS):
        t0, t1 = (torch.npu.Event(enable_timing=True) for _ in "ab")
        t0.record()
        dec.generate(NEW_TOKENS)
        t1.record()
        torch.npu.synchronize()
        times.append(t0.elapsed_time(t1) / NEW_TOKENS)
    times.sort()
    ms = times[len(times) // 2]
    log.info("%s, batch %d, %d heads, context %d, fp32", torch.npu.get_device_name(0), BATCH, HEADS, CONTEXT)
    log.info("decode step: median %.1f us of %d runs x %d tokens (%.1f .. %.1f)", ms * 1e3, REPEATS, NEW_TOKENS,
             times[0] * 1e3, times[-1] * 1e3)
    log.info("KV read per step: %.1f MB -> effective HBM bandwidth %.0f GB/s", dec.kv_bytes / 1e6,
             dec.kv_bytes / ms / 1e6)


if __name__ == "__main__":
    main()
