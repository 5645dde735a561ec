"""Replays of a captured host-to-device copy: how many per second can be kept up?"""
import time

import torch
import torch_npu

REPLAYS, ROUNDS, WARM = 25, 5, 5


def capture(numel):
    host = torch.randn(numel).pin_memory()
    dev = torch.empty(numel, device="npu")
    dev.copy_(host, non_blocking=True)
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        dev.copy_(host, non_blocking=True)
    return graph, host, dev


def round_rate(graph):
    stream = torch.npu.current_stream()
    t0 = time.perf_counter()
    for _ in range(REPLAYS):
        graph.replay()
        stream.synchronize()
    return REPLAYS / (time.perf_counter() - t0)


print("H2D copy from pinned memory as a graph: replays issued back to back, sustained throughput")
for kib in (4, 64, 512):
    numel = kib * 256
    graph, host, dev = capture(numel)
    for _ in range(WARM):
        graph.replay()
    torch.npu.synchronize()
    host.copy_(torch.arange(numel, dtype=torch.float32))
    graph.replay()
    torch.npu.synchronize()
    assert torch.equal(dev.cpu(), host)
    rates = sorted(round_rate(graph) for _ in range(ROUNDS))
    mid = rates[ROUNDS // 2]
    print(f"{kib:5d} KiB: {mid / 1e3:8.2f} k replays/s of throughput (rounds {rates[0] / 1e3:.2f} .. "
          f"{rates[-1] / 1e3:.2f}), {mid * kib * 1024 / 1e9:.3f} GB/s, {1e6 / mid:.2f} us per replay launched")
