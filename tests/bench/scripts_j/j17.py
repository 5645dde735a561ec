"""Decode with a growing key cache: time per token of a compiled attention step, six requests one after the other."""

import statistics
import time

import torch
import torch_npu  # noqa: F401

torch._dynamo.config.recompile_limit = 200
HEADS, DIM, TOKENS, REQUESTS = 8, 64, 8, 6


@torch.compile(backend="aot_eager", dynamic=False)
def attend(query, keys, values):
    weights = torch.softmax(query @ keys.transpose(-1, -2) * DIM**-0.5, dim=-1)
    return weights @ values


cache = torch.ones(2, HEADS, 512, DIM).npu()
query = torch.ones(HEADS, 1, DIM).npu()


def step(length):
    return attend(query, cache[0, :, :length], cache[1, :, :length])


for _ in range(30):  # compiled and loaded from here on
    step(128)
torch.npu.synchronize()

per_token = []
length = 128
for _ in range(REQUESTS):
    start = time.monotonic()
    for _ in range(TOKENS):
        length += 1
        step(length)
    torch.npu.synchronize()
    per_token.append((time.monotonic() - start) / TOKENS * 1e6)

print(f"compiled attention, query ({HEADS}, 1, {DIM}), keys ({HEADS}, 129..{length}, {DIM}), float32, cache warm in L2")
print(f"{REQUESTS} requests of {TOKENS} tokens, us a token:")
print(f"  median {statistics.median(per_token):.1f}, min {min(per_token):.1f}, max {max(per_token):.1f}")
print(f"  stdev {statistics.stdev(per_token):.1f}")
