# right
# training step: forward, backward, optimizer; interleaved comparison of two optimizers over rounds
import time
import numpy as np
import torch
import torch_npu


def make(kind):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)).npu()
    return net, kind(net.parameters(), lr=1e-3)


x, y = torch.randn(32, 64).npu(), torch.randn(32, 1).npu()


def step(net, opt):
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.step()


runs = {"sgd": make(torch.optim.SGD), "adam": make(torch.optim.Adam)}
for net, opt in runs.values():
    for _ in range(4):
        step(net, opt)
torch.npu.synchronize()
laps = {k: [] for k in runs}
for r in range(12):
    for k in list(runs) if r % 2 else list(runs)[::-1]:
        t = time.perf_counter()
        for _ in range(5):
            step(*runs[k])
        torch.npu.synchronize()
        laps[k].append((time.perf_counter() - t) / 5 * 1e6)
for k, v in laps.items():
    print(f"{k} step (batch 32, 64-128-1): median {np.median(v):.0f} us, sd {np.std(v):.1f}")
print(f"adam vs sgd: {np.median(np.array(laps['adam']) / np.array(laps['sgd'])):.3f}")
