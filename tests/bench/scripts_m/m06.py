import time

import torch
import torch_npu  # noqa: F401


@torch.compile(backend="aot_eager", dynamic=False)
def score(q, k):
    return torch.softmax(q @ k.transpose(0, 1), dim=-1)


def decode(first, steps, width=64):
    """One key more with each token, as in generation: seconds of each step."""
    torch._dynamo.reset()  # a new conversation, an empty compiler
    q = torch.ones(1, width, device="npu")
    cache = torch.ones(first + steps, width, device="npu")
    keys = [cache[: first + i].clone() for i in range(steps)]
    for _ in range(20):  # warm-up: the compiler has run before we look at the clock
        score(q, keys[0])
    torch.npu.synchronize()
    for k in keys[1:]:
        t = time.monotonic()
        score(q, k)
        torch.npu.synchronize()  # the next token needs this one: a latency
        yield time.monotonic() - t


for first in 16, 64:
    us = sorted(1e6 * s for s in decode(first, 7))
    print(f"attention scores, latency of a token with {first + 1}..{first + 6} keys of 64 fp32:")
    print(f"  p50 {us[len(us) // 2]:.1f} us, min {us[0]:.1f}, max {us[-1]:.1f}, n={len(us)}")
