import argparse
import statistics
import time

import torch
import torch.nn as nn
import torch_npu
from torch.utils.checkpoint import checkpoint

ap = argparse.ArgumentParser()
ap.add_argument("--blocks", default=6, type=int)
ap.add_argument("--dim", default=128, type=int)
ap.add_argument("--tokens", default=256, type=int)
ap.add_argument("--steps", default=15, type=int)
ap.add_argument("--cpu-threads", default=1, type=int)
opts = ap.parse_args()
torch.set_num_threads(opts.cpu_threads)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


blocks = nn.ModuleList(Block(opts.dim) for _ in range(opts.blocks)).npu()
x = torch.randn(opts.tokens, opts.dim, device="npu")


def step(recompute):
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False) if recompute else block(h)
    h.square().mean().backward()


def clear():
    for p in blocks.parameters():
        p.grad = None


def examine(recompute):
    for _ in range(3):
        clear()
        step(recompute)
    host, device = [], []
    for _ in range(opts.steps):
        clear()
        torch.npu.synchronize()
        e0, e1 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        t = time.perf_counter()
        e0.record()
        step(recompute)
        e1.record()
        torch.npu.synchronize()
        host.append((time.perf_counter() - t) * 1e3)
        device.append(e0.elapsed_time(e1))
    clear()
    torch.npu.synchronize()
    torch.npu.reset_peak_memory_stats()
    resting = torch.npu.memory_allocated()
    step(recompute)
    torch.npu.synchronize()
    peak = torch.npu.max_memory_allocated() - resting
    grads = [p.grad.clone() for p in blocks.parameters()]
    return sorted(host), sorted(device), peak, grads


kept, again = examine(False), examine(True)
worst = max((a - b).abs().max().item() for a, b in zip(kept[3], again[3]))

print("**What I ran**")
print(f"forward + backward (no optimizer) of {opts.blocks} MLP blocks, dim {opts.dim}, {opts.tokens} tokens, float32, on {torch.npu.get_device_name(0)}")
print(f"3 steps to warm up, {opts.steps} timed, grads set to None before each step and outside of the clock")
print()
print("**What I see**")
for title, (host, device, peak, _) in (("activations kept", kept), ("checkpointed", again)):
    print(f"* {title}")
    print(f"  - peak of allocated memory in one step, above weights and input: {peak / 2**20:.2f} MiB (includes the gradients)")
    print(f"  - best case: {host[0]:.3f} ms host, {device[0]:.3f} ms between events")
    print(f"  - median:    {statistics.median(host):.3f} ms host, {statistics.median(device):.3f} ms between events")
print(f"* peak kept / checkpointed: {kept[2] / again[2]:.2f}; median step checkpointed / kept, by the events: {statistics.median(again[1]) / statistics.median(kept[1]):.2f}")
print(f"* gradients of the two differ by at most {worst:.1e}")
print()
print("**Notes**")
print("Host figures end behind a synchronize. Event figures count the time in which the stream has nothing to do because Python is late.")
print("Peak is the allocator's `max_memory_allocated`, not what the card reports; taken in a separate step.")
