"""Replay of a captured MLP tail against the eager calls. CSV on stdout."""
import csv
import statistics
import sys
import time

import torch
import torch_npu

WIDTH, DEPTH = 64, 6
BATCHES = (1, 16, 64)
BLOCK, BLOCKS = 10, 11


def tail(x, weights):
    for w in weights:
        x = torch.relu(x @ w)
    return x


def capture(x, weights):
    t0 = time.perf_counter()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = tail(x, weights)
    torch.npu.synchronize()
    return graph, out, (time.perf_counter() - t0) * 1e3


def block_us(fn):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(BLOCK):
        fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / BLOCK * 1e6


def main():
    torch.manual_seed(2)
    weights = [(torch.randn(WIDTH, WIDTH) / WIDTH ** 0.5).npu() for _ in range(DEPTH)]
    writer = csv.writer(sys.stdout)
    writer.writerow(["batch", "eager_incl_input_copy_us_median", "eager_iqr_us", "replay_incl_input_copy_us_median",
                     "replay_iqr_us", "capture_once_ms", "same_result"])
    for batch in BATCHES:
        fresh = torch.randn(batch, WIDTH).npu()
        static = torch.zeros_like(fresh)

        def eager():
            static.copy_(fresh)
            return tail(static, weights)

        for _ in range(3):
            eager()
        torch.npu.synchronize()
        graph, out, capture_ms = capture(static, weights)

        def replay():
            static.copy_(fresh)
            graph.replay()
            return out

        for _ in range(3):
            replay()
        same = torch.allclose(eager(), replay(), atol=1e-5)

        took = {eager: [], replay: []}
        for i in range(BLOCKS):
            for fn in ((eager, replay) if i % 2 else (replay, eager)):
                took[fn].append(block_us(fn))
        cells = []
        for fn in (eager, replay):
            q1, q2, q3 = statistics.quantiles(took[fn], n=4)
            cells += [f"{q2:.0f}", f"{q3 - q1:.0f}"]
        writer.writerow([batch, *cells, f"{capture_ms:.1f}", same])
    print(f"# {DEPTH} layers of width {WIDTH}, float32; {BLOCKS} blocks of {BLOCK} passes a side, in turns, one wait per block")
    print("# wall time of a pass on the host; capture is paid once and not in it")


if __name__ == "__main__":
    main()
