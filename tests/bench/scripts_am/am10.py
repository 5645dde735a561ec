"""SwiGLU gate silu(a) * b: two eager launches, written down as a markdown report."""
import torch
import torch.nn.functional as F
import torch_npu

DEV = "npu"
INNER = 10          # launches of the gate between a pair of events
BLOCKS = 30
SHAPES = [(64, 1024), (256, 2048), (512, 2048), (1024, 1024)]


def gate(a, b):
    return F.silu(a) * b


def block(pairs):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    for i in range(INNER):
        gate(*pairs[i % len(pairs)])
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / INNER


def at(ordered, q):
    return ordered[round(q * (len(ordered) - 1))]


lines = [
    "# SwiGLU gate on " + torch.npu.get_device_name(),
    "",
    f"`silu(a) * b`, float16, eager. {BLOCKS} blocks of {INNER} calls between two events after 3 blocks of warm-up.",
    "Two pairs of inputs in turn, both in L2.",
    "",
    "| shape | p10 us/call | p50 us/call | p90 us/call | GB/s at p50 |",
    "|---|---:|---:|---:|---:|",
]
torch.manual_seed(0)
for shape in SHAPES:
    pairs = [(torch.randn(shape).half().to(DEV), torch.randn(shape).half().to(DEV)) for _ in range(2)]
    a, b = pairs[0]
    torch.testing.assert_close(gate(a, b).cpu().float(), gate(a.cpu().float(), b.cpu().float()),
                               atol=1e-2, rtol=1e-2)
    for _ in range(3):
        block(pairs)
    us = sorted(block(pairs) for _ in range(BLOCKS))
    nbytes = 5 * a.numel() * a.element_size()       # silu: read, write; mul: two reads, write
    lines.append(f"| {shape[0]}x{shape[1]} | {at(us, .1):.4f} | {at(us, .5):.4f} | {at(us, .9):.4f} "
                 f"| {nbytes / (at(us, .5) * 1e-6) / 1e9:.1f} |")
lines += ["", "Times are microseconds for one gate (both launches), from event to event; the rate counts the traffic",
          "of both operators. The figures hold for the shapes of the table."]
print("\n".join(lines))
