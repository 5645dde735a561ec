"""Latency of one decoding step of a compiled attention block while the context grows."""
import time

import numpy as np
import torch
import torch._dynamo
import torch_npu  # noqa: F401

torch._dynamo.config.cache_size_limit = 128
HEADS, DIM = 4, 32
START, STEPS = 24, 10


class DecodeBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        width = HEADS * DIM
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, token, keys, values):
        q, k, v = self.qkv(token).view(-1, 3, HEADS, DIM).unbind(1)
        keys = torch.cat([keys, k.unsqueeze(2)], dim=2)
        values = torch.cat([values, v.unsqueeze(2)], dim=2)
        weights = torch.softmax((q.unsqueeze(2) @ keys.transpose(-1, -2)) * DIM ** -0.5, dim=-1)
        mixed = (weights @ values).reshape(token.shape[0], HEADS * DIM)
        return self.out(mixed), keys, values


def decode(block, batch, first, steps):
    token = torch.randn(batch, HEADS * DIM, device="npu")
    keys = torch.randn(batch, HEADS, first, DIM, device="npu")
    values = torch.randn(batch, HEADS, first, DIM, device="npu")
    torch.npu.synchronize()
    taken = []
    for _ in range(steps):
        begin = time.perf_counter()
        token, keys, values = block(token, keys, values)
        torch.npu.synchronize()
        taken.append((time.perf_counter() - begin) * 1e3)
    return np.array(taken)


def main():
    torch.manual_seed(3)
    model = DecodeBlock().eval().npu()
    block = torch.compile(model, backend="aot_eager", dynamic=False)
    with torch.inference_mode():
        for batch in (1, 8):
            for _ in range(2):
                decode(block, batch, START - 4, 4)
            ms = decode(block, batch, START, STEPS)
            q25, q50, q75 = np.percentile(ms, [25, 50, 75])
            print(f"batch {batch}, context {START} to {START + STEPS - 1}: step latency with its wait, host clock: "
                  f"median {q50:.2f} ms, mean {ms.mean():.2f} ms, IQR {q25:.2f}..{q75:.2f}, "
                  f"max {ms.max():.2f}, n={ms.size}")


if __name__ == "__main__":
    main()
