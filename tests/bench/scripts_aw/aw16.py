"""Message passing with scatter_add, compiled: time of the aggregation by number of edges."""
import time
from dataclasses import dataclass

import torch
import torch_npu

NODES, WIDTH = 256, 32
CALLS = 10


@dataclass
class Aggregation:
    nodes: int
    edges: int
    width: int
    calls: int
    us_per_call: float
    edges_per_us: float


def aggregate(messages, weight, target):
    gated = torch.sigmoid(messages) * messages * weight + 1.0
    sums = torch.zeros(NODES, WIDTH, device=messages.device)
    return sums.scatter_add_(0, target[:, None].expand_as(gated), gated)


def graph_of(edges):
    generator = torch.Generator().manual_seed(edges)
    messages = torch.randn(edges, WIDTH, generator=generator)
    weight = torch.rand(edges, 1, generator=generator)
    target = torch.randint(0, NODES, (edges,), generator=generator)
    return tuple(t.to("npu") for t in (messages, weight, target))


def timed(function, batch):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        function(*batch)
    torch.npu.synchronize()
    us = (time.perf_counter() - begin) * 1e6 / CALLS
    edges, width = batch[0].shape
    return Aggregation(NODES, edges, width, CALLS, round(us, 2), round(edges / us, 2))


def main():
    fast = torch.compile(aggregate, dynamic=False)
    batches = [graph_of(edges) for edges in (1024, 512)]

    # compile, and check against eager
    result = fast(*batches[0])
    assert torch.allclose(result.cpu(), aggregate(*batches[0]).cpu(), atol=1e-3)
    for _ in range(5):
        fast(*batches[0])
        for batch in batches:
            aggregate(*batch)
    torch.npu.synchronize()

    print(f"compiled aggregation on {torch.npu.get_device_name(0)}, float32, compiled and warmed up before the clock")
    for batch in batches:
        print(timed(fast, batch))


if __name__ == "__main__":
    main()
