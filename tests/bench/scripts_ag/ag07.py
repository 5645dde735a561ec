import labkit
import itertools
import statistics

import torch

TAKE, SKIP = 32, 4
scrub = torch.empty(256 * 2**20, dtype=torch.uint8, device="npu")  # more than the 192 MB of the L2


def cold_adds(rows, columns):
    """Endless: runs one add with an L2 full of other data and gives its pair of events (not yet read)."""
    a = torch.randn(rows, columns, device="npu")
    b = torch.randn(rows, columns, device="npu")
    c = torch.empty_like(a)
    while True:
        scrub.zero_()
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        torch.add(a, b, out=c)
        end.record()
        yield begin, end


def durations(pairs):
    pairs = list(pairs)
    torch.npu.synchronize()
    for begin, end in pairs:
        yield begin.elapsed_time(end) * 1e-3  # ms -> s


def summary(shape):
    source = cold_adds(*shape)
    warm = list(durations(itertools.islice(source, SKIP)))
    seconds = list(durations(itertools.islice(source, TAKE)))
    moved = 3 * 4 * shape[0] * shape[1]  # two inputs read, one output written, float32
    rates = sorted(moved / s / 1e9 for s in seconds)
    q1, q2, q3 = statistics.quantiles(rates, n=4)
    yield f"add float32 {shape[0]} x {shape[1]}, L2 overwritten before each call:"
    yield f"  time   median {statistics.median(seconds) * 1e6:.1f} us on the device"
    yield f"  rate   median {q2:.0f} GB/s, quartiles {q1:.0f} and {q3:.0f}, extremes {rates[0]:.0f} and {rates[-1]:.0f}"
    yield f"  from {len(seconds)} calls; {len(warm)} before them were the warm-up"


for line in itertools.chain.from_iterable(map(summary, [(1024, 4096), (2048, 4096)])):
    print(line)
print("Bytes counted: 2 reads + 1 write; that the scrubbed lines have to leave the L2 meanwhile is part of the time. Smaller tensors, where the launch dominates, are not covered.")
