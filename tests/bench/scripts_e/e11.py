"""What one optimizer.step() of AdamW costs when nothing of it is left in the L2.

In training the backward pass lies between two steps and pushes the states out of the cache. We do the same with a write
of 256 MB, outside of the events.
"""
import numpy as np
import torch
import torch_npu


def parameters(count, numel):
    out = [torch.nn.Parameter(torch.ones(numel, device="npu")) for _ in range(count)]
    for p in out:
        p.grad = torch.full_like(p, 0.125)
    return out


def evict(buffer):
    buffer.fill_(1)


def bench(count, numel, buffer, samples=20):
    optimizer = torch.optim.AdamW(parameters(count, numel), lr=1e-3)
    for _ in range(5):
        optimizer.step()
    torch.npu.synchronize()

    marks = []
    for _ in range(samples):
        evict(buffer)
        before = torch.npu.Event(enable_timing=True)
        after = torch.npu.Event(enable_timing=True)
        before.record()
        optimizer.step()
        after.record()
        marks.append((before, after))
    torch.npu.synchronize()
    return np.asarray([b.elapsed_time(a) for b, a in marks]) * 1e3


def main():
    buffer = torch.empty(256 * 2**20, dtype=torch.uint8, device="npu")
    print(f"{'tensors':>8} {'elements':>9} {'P25':>8} {'P50':>8} {'P75':>8} {'max':>8}  us, cold L2")
    for count, numel in [(4, 1000), (16, 50_000)]:
        us = bench(count, numel, buffer)
        print(f"{count:8d} {numel:9d} " + " ".join(f"{v:8.1f}" for v in [*np.percentile(us, [25, 50, 75]), us.max()]))


if __name__ == "__main__":
    main()
