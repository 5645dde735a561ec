"""Latency of a compiled encoder block for prompts of different lengths."""
import statistics
import time

import torch
import torch_npu


class Block(torch.nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.norm = torch.nn.LayerNorm(dim)
        self.up = torch.nn.Linear(dim, 4 * dim)
        self.down = torch.nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


torch.manual_seed(0)
block = Block().npu().eval()
fast = torch.compile(block, backend="npu", dynamic=False)

lengths = [32, 64, 96, 128]
prompts = {n: torch.ones(2, n, 64).npu() for n in lengths}

with torch.no_grad():
    # compile and warm up before the clock starts
    for _ in range(10):
        fast(prompts[lengths[0]])
    torch.npu.synchronize()

    for n in lengths:
        per_call = []
        for _ in range(20):
            t = time.perf_counter()
            for _ in range(4):
                fast(prompts[n])
            torch.npu.synchronize()
            per_call.append((time.perf_counter() - t) / 4 * 1e3)
        q = statistics.quantiles(per_call, n=20)
        print(f"{n:4d} tokens: mean {statistics.mean(per_call):.3f} ms, median {statistics.median(per_call):.3f} ms, "
              f"P95 {q[18]:.3f} ms (20 blocks of 4 calls, weights stay in the L2)")
