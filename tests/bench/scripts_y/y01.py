"""Replay of a captured graph against eager issue, small MLP block."""
import torch
import torch_npu
import random
import time

import numpy as np

ROWS, WIDTH, ROUNDS, CALLS = 16, 256, 20, 6
torch.set_num_threads(1)
torch.manual_seed(7)
random.seed(7)

x = torch.randn(ROWS, WIDTH, dtype=torch.float16).npu()
w1 = (torch.randn(WIDTH, WIDTH) / WIDTH**0.5).half().npu()
w2 = (torch.randn(WIDTH, WIDTH) / WIDTH**0.5).half().npu()
bias = torch.randn(WIDTH).half().npu()


def block(t):
    h = torch.nn.functional.silu(t @ w1 + bias)
    return torch.nn.functional.layer_norm(h @ w2 + t, (WIDTH,))


for _ in range(5):
    block(x)
torch.npu.synchronize()

graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    captured = block(x)


def eager():
    return block(x)


def replay():
    graph.replay()
    return captured


captured.zero_()
torch.testing.assert_close(replay().cpu(), eager().cpu(), rtol=2e-3, atol=2e-3)

candidates = {"eager": eager, "replay": replay}
for fn in candidates.values():
    for _ in range(20):
        fn()
torch.npu.synchronize()

samples = {name: [] for name in candidates}
for _ in range(ROUNDS):
    for name in random.sample(list(candidates), 2):
        fn = candidates[name]
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            fn()
        torch.npu.synchronize()
        samples[name].append((time.perf_counter() - begin) / CALLS * 1e6)

print(f"MLP block, input {ROWS} x {WIDTH}, float16, weights {WIDTH} x {WIDTH}, everything in the L2.")
print(f"Wall time per call: host issue and device, one wait behind {CALLS} calls; {ROUNDS} samples each, in random turns.")
for name, values in samples.items():
    p10, p50, p90 = np.percentile(values, [10, 50, 90])
    print(f"  {name:7} P10 {p10:8.1f} us   P50 {p50:8.1f} us   P90 {p90:8.1f} us   n={len(values)}")
ratio = np.array(samples["eager"]) / np.array(samples["replay"])
rng = np.random.default_rng(0)
boot = np.median(rng.choice(ratio, (2000, ratio.size)), axis=1)
low, high = np.percentile(boot, [2.5, 97.5])
print(f"eager / replay at this shape: median of {ratio.size} paired ratios {np.median(ratio):.2f}, 95% interval {low:.2f} to {high:.2f}")
