"""Decode cost of one compiled attention block with a growing KV cache."""
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

torch.set_num_threads(1)
torch._dynamo.config.recompile_limit = 128
torch._dynamo.config.cache_size_limit = 128

DIM, HEADS = 512, 8
NEW_TOKENS = 6
PROMPTS = (40, 57, 73, 98)


class DecodeBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, keys, values):
        batch, _, dim = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, 1, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        keys, values = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
        mixed = F.scaled_dot_product_attention(q, keys, values)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, 1, dim)), keys, values


class Session:
    """One sequence: its cache and the token that comes next."""

    def __init__(self, step, prompt, batch=4):
        self.step = step
        self.x = torch.randn(batch, 1, DIM, device="npu")
        self.keys = torch.randn(batch, HEADS, prompt, DIM // HEADS, device="npu")
        self.values = torch.randn_like(self.keys)

    def advance(self):
        self.x, self.keys, self.values = self.step(self.x, self.keys, self.values)


@torch.no_grad()
def main():
    torch.manual_seed(0)
    block = DecodeBlock(DIM, HEADS).npu().eval()
    # static kernels turned out faster than the symbolic ones on this model
    step = torch.compile(block, backend="npu", dynamic=False)

    warm = Session(step, PROMPTS[0] - 1)
    fixed = (warm.x, warm.keys, warm.values)
    for _ in range(10):
        step(*fixed)
    torch.npu.synchronize()

    per_token = {}
    for prompt in PROMPTS:
        session = Session(step, prompt)
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(NEW_TOKENS):
            session.advance()
        torch.npu.synchronize()
        per_token[prompt] = (time.perf_counter() - begin) / NEW_TOKENS * 1e3

    print(f"compiled decode block, dim {DIM}, {HEADS} heads, batch 4, float32, {NEW_TOKENS} new tokens per prompt")
    for prompt, ms in per_token.items():
        print(f"  prompt {prompt:4d}: {ms:8.3f} ms per token")
    figures = list(per_token.values())
    print(f"steady decode: median {statistics.median(figures):.3f} ms per token "
          f"({min(figures):.3f} to {max(figures):.3f} over {len(figures)} prompts)")


if __name__ == "__main__":
    main()
