"""Batched projections of the mixture layer, issued one by one or replayed as a graph."""
import time

import torch
import torch_npu

EXPERTS, TOKENS, WIDTH = 8, 16, 64
CHAIN = 6
PASSES = 60


class Layer:
    def __init__(self):
        torch.manual_seed(8)
        self.x = torch.randn(EXPERTS, TOKENS, WIDTH).npu()
        self.weights = [(torch.randn(EXPERTS, WIDTH, WIDTH) / WIDTH ** 0.5).npu() for _ in range(CHAIN)]

    def forward(self):
        h = self.x
        for w in self.weights:
            h = torch.bmm(h, w)
        return h


def run_eager(layer):
    begin = time.perf_counter()
    for _ in range(PASSES):
        layer.forward()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / PASSES


def run_graph(layer):
    begin = time.perf_counter()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        layer.forward()
    for _ in range(PASSES):
        graph.replay()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / PASSES


def main():
    layer = Layer()
    for _ in range(5):
        layer.forward()
    torch.npu.synchronize()

    eager = run_eager(layer)
    replay = run_graph(layer)

    print(f"A chain of {CHAIN} bmm calls, {EXPERTS} experts x {TOKENS} tokens x {WIDTH}, float32, {PASSES} passes a side.")
    print(f"Issued call by call, a pass takes {eager * 1e6:.0f} us of wall time.")
    print(f"Replaying the graph, a pass takes {replay * 1e6:.0f} us, which is {replay / eager:.2f} times the eager one; "
          "this is what a pass costs once the server is running.")


if __name__ == "__main__":
    main()
