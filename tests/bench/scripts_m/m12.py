import statistics
import time

import torch
import torch_npu  # noqa: F401


def block(x, r):
    return torch.tanh(x + r) * x


def per_call(fn, *args, calls=8):
    torch.npu.synchronize()
    t = time.monotonic_ns()
    for _ in range(calls):
        fn(*args)
    torch.npu.synchronize()
    return (time.monotonic_ns() - t) / calls / 1e3


for cols in (64, 128, 256):
    x, r = (torch.full((32, cols), v, device="npu") for v in (0.5, 1.0))
    graph = torch.compile(block, backend="npu", dynamic=False)
    t = time.monotonic()
    first = graph(x, r)
    torch.npu.synchronize()
    build = time.monotonic() - t
    assert torch.allclose(first.cpu(), block(x, r).cpu(), atol=1e-5)
    for fn in (graph, block):
        per_call(fn, x, r)
    eager_us, graph_us = [], []
    for i in range(10):  # swap the order each time
        pair = [(block, eager_us), (graph, graph_us)]
        for fn, log in pair if i % 2 else pair[::-1]:
            log.append(per_call(fn, x, r))
    print(f"32x{cols} fp32, L2 warm; first call of the graph, with its compilation: {build * 1e3:.1f} ms (not below)")
    for name, log in (("eager", eager_us), ("graph", graph_us)):
        q = statistics.quantiles(log, n=4)
        print(f"   {name}: median {q[1]:.2f} us [{q[0]:.2f}, {q[2]:.2f}]")
