"""Does a second stream help for independent chunks? CSV on stdout."""

import csv
import math
import sys
import time

import torch
import torch_npu

CHUNKS, ROUNDS = 6, 12
chunks = [torch.randn(96, 96, device="npu") for _ in range(CHUNKS)]
weight = torch.randn(96, 96, device="npu")


def rank(values, percent):
    ordered = sorted(values)
    return ordered[math.ceil(percent / 100 * len(ordered)) - 1]


def round_of(streams):
    """(host seconds idle to idle, device seconds fork to join) for all chunks dealt to the streams in turn."""
    main = torch.npu.current_stream()
    fork, join = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    t = time.perf_counter()
    fork.record(main)
    for s in streams:
        s.wait_event(fork)
    for i, chunk in enumerate(chunks):
        with torch.npu.stream(streams[i % len(streams)]):
            torch.tanh(chunk @ weight)
    for s in streams:
        main.wait_stream(s)
    join.record(main)
    torch.npu.synchronize()
    return time.perf_counter() - t, fork.elapsed_time(join) * 1e-3


pools = {n: [torch.npu.Stream() for _ in range(n)] for n in (1, 2, 4)}
samples = {n: [] for n in pools}
for _ in range(3):
    for pool in pools.values():
        round_of(pool)
for _ in range(ROUNDS):
    for n, pool in pools.items():
        samples[n].append(round_of(pool))

out = csv.writer(sys.stdout)
out.writerow(["side_streams", "chunks", "rounds", "clock", "round_us_p50", "round_us_p90", "us_per_chunk_p50"])
for n, pairs in samples.items():
    for clock, values in zip(("host: synchronize to synchronize", "device: fork event to join event"), zip(*pairs)):
        p50, p90 = rank(values, 50) * 1e6, rank(values, 90) * 1e6
        out.writerow([n, CHUNKS, ROUNDS, clock, f"{p50:.1f}", f"{p90:.1f}", f"{p50 / CHUNKS:.2f}"])
print("# a chunk is tanh(96x96 @ 96x96), float32; us_per_chunk is the round divided by the chunks, not the latency of one")
