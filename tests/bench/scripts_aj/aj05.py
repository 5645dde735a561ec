"""Launch throughput of a captured bmm: how many graph replays a second can the host keep going?"""
import time

import numpy as np
import torch
import torch_npu

SHAPES = [(8, 32, 32), (8, 64, 32), (4, 64, 64)]
REPLAYS = 12
ROUNDS = 20


def capture(a, b):
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        for _ in range(3):
            torch.bmm(a, b)
    torch.npu.current_stream().wait_stream(side)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = torch.bmm(a, b)
    return graph, out


def replays_per_second(graph):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(REPLAYS):
        graph.replay()
        torch.npu.synchronize()
    elapsed = time.perf_counter() - t0
    return REPLAYS / elapsed


print(f"NPUGraph with one torch.bmm (float32): throughput of replays queued back to back, {REPLAYS} to a round.")
print("Static buffers, hot L2. Figures over", ROUNDS, "rounds.")
for n, m, k in SHAPES:
    a = torch.randn(n, m, k, device="npu")
    b = torch.randn(n, k, m, device="npu")
    graph, out = capture(a, b)
    graph.replay()
    torch.testing.assert_close(out, torch.bmm(a, b))
    for _ in range(5):
        graph.replay()
    rates = np.array([replays_per_second(graph) for _ in range(ROUNDS)])
    q1, q2, q3 = np.percentile(rates, [25, 50, 75])
    print(f"  bmm {n} x ({m} x {k}) @ ({k} x {m}): median {q2:,.0f} launches/s "
          f"(quartiles {q1:,.0f} .. {q3:,.0f}; lowest {rates.min():,.0f})")
