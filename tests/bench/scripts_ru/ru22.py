"""Peak memory of attention, all queries at once or block by block, with the time that the saving costs."""

import time

import numpy as np
import torch
import torch_npu

S, D, BLOCK, ROUNDS = 256, 32, 32, 11
MIB = 2**20


def whole(q, k, v):
    return torch.softmax(q @ k.t() * D**-0.5, dim=-1) @ v


def blocked(q, k, v):
    out = torch.empty_like(q)
    for i in range(0, S, BLOCK):
        out[i : i + BLOCK] = whole(q[i : i + BLOCK], k, v)
    return out


def peak_over_inputs(fn, args):
    torch.npu.synchronize()
    before = torch.npu.memory_allocated()
    torch.npu.reset_peak_memory_stats()
    result = fn(*args)
    torch.npu.synchronize()
    return torch.npu.max_memory_allocated() - before, result


def timed(fn, args):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    t = time.perf_counter()
    a.record()
    fn(*args)
    b.record()
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e3, a.elapsed_time(b)


torch.manual_seed(9)
host = [torch.randn(S, D) for _ in range(3)]
args = [h.npu() for h in host]
exact = whole(*(h.double() for h in host))
ways = {"at once": whole, f"blocks of {BLOCK}": blocked}
for fn in ways.values():
    for _ in range(3):
        timed(fn, args)
times = {name: [] for name in ways}
for _ in range(ROUNDS):
    for name, fn in ways.items():
        times[name].append(timed(fn, args))

print(f"softmax(q k^T) v, {S} queries and keys of {D}, one head, float32")
for name, fn in ways.items():
    peak, result = peak_over_inputs(fn, args)
    error = (result.cpu().double() - exact).abs().max().item()
    del result
    wall, device = np.median(np.array(times[name]), axis=0)
    worst = np.max(np.array(times[name])[:, 0])
    print(f"""
  {name}
    peak allocated above the inputs   {peak / MIB:10.3f} MiB  (result included; the allocator's cache is not counted)
    one call, idle to idle            {wall:10.3f} ms   median of {ROUNDS}, host clock, final wait included
    one call, idle to idle            {worst:10.3f} ms   slowest of {ROUNDS}
    one call, event to event          {device:10.3f} ms   median of {ROUNDS}, gaps between launches included
    against float64 on the CPU        {error:10.2e}      largest absolute error""")
