"""Peak memory of one forward+backward with and without activation checkpointing."""
import argparse
import contextlib
import statistics
import time

import torch
import torch_npu
from torch.utils.checkpoint import checkpoint

cli = argparse.ArgumentParser()
cli.add_argument("--depth", type=int, default=3)
cli.add_argument("--width", type=int, default=128)
cli.add_argument("--batch", type=int, default=512)
cli.add_argument("--passes", type=int, default=9)
MIB = 1 << 20


@contextlib.contextmanager
def peak_over_resting(book):
    torch.npu.synchronize()
    torch.npu.reset_peak_memory_stats()
    resting = torch.npu.memory_allocated()
    yield
    torch.npu.synchronize()
    book.append((resting, torch.npu.max_memory_allocated()))


class Tower(torch.nn.Module):
    def __init__(self, depth, width, recompute):
        super().__init__()
        torch.manual_seed(2)
        self.recompute = recompute
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.LayerNorm(width),
                torch.nn.Linear(width, 2 * width),
                torch.nn.GELU(),
                torch.nn.Linear(2 * width, width),
            )
            for _ in range(depth)
        )

    def forward(self, x):
        for block in self.blocks:
            x = x + (checkpoint(block, x, use_reentrant=False) if self.recompute else block(x))
        return x


def one_pass(net, x):
    net.zero_grad(set_to_none=True)
    net(x).square().mean().backward()


def examine(net, x, passes):
    for _ in range(2):
        one_pass(net, x)
    net.zero_grad(set_to_none=True)
    memory, wall, spans = [], [], []
    with peak_over_resting(memory):
        one_pass(net, x)
    for _ in range(passes):
        a, b = (torch.npu.Event(enable_timing=True) for _ in "ab")
        torch.npu.synchronize()
        t = time.perf_counter()
        a.record()
        one_pass(net, x)
        b.record()
        torch.npu.synchronize()
        wall.append(time.perf_counter() - t)
        spans.append((a, b))
    grads = [p.grad.cpu() for p in net.parameters()]
    net.zero_grad(set_to_none=True)
    resting, peak = memory[0]
    return {
        "rest": resting / MIB,
        "peak": peak / MIB,
        "extra": (peak - resting) / MIB,
        "wall": statistics.median(wall) * 1e3,
        "dev": statistics.median(a.elapsed_time(b) for a, b in spans),
        "grads": grads,
    }


def main():
    o = cli.parse_args()
    x = torch.randn(o.batch, o.width, generator=torch.Generator().manual_seed(9)).to("npu")
    rows = {}
    for label, recompute in (("plain", False), ("checkpointed", True)):
        net = Tower(o.depth, o.width, recompute).to("npu")
        rows[label] = examine(net, x, o.passes)
        del net
    print(f"depth {o.depth}  width {o.width}  batch {o.batch}  fp32  fwd+bwd, no optimizer")
    print(f"{'':14}{'rest MiB':>10}{'peak MiB':>10}{'peak-rest':>11}{'device ms':>11}{'wall ms':>9}")
    for label, r in rows.items():
        print(f"{label:14}{r['rest']:10.1f}{r['peak']:10.1f}{r['extra']:11.1f}{r['dev']:11.3f}{r['wall']:9.1f}")
    p, c = rows["plain"], rows["checkpointed"]
    gap = max((a - b).abs().max().item() for a, b in zip(p["grads"], c["grads"]))
    print(f"peak-rest ratio {c['extra'] / p['extra']:.2f}, device time ratio {c['dev'] / p['dev']:.2f}, largest gradient gap {gap:.1e}")
    print("bytes: allocator's allocated (not reserved), one warm pass after a peak reset, grads freed before")
    print(f"times: medians of {o.passes} passes, device = event before to event after, wall = same pass plus its sync")


if __name__ == "__main__":
    main()
