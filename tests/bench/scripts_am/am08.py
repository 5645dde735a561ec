"""Cost of one AdamW step for several model widths, as CSV on stdout."""
import csv
import sys
import time

import torch
import torch_npu

DEV = "npu"
WARMUP = 5
STEPS = 40
side = torch.npu.Stream()


def build(width, layers):
    net = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).to(DEV)
    for p in net.parameters():
        p.grad = torch.randn(p.shape).to(DEV) * 1e-3
    return net, torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)


def timed_step(opt):
    side.wait_stream(torch.npu.current_stream())
    torch.npu.synchronize()
    t0 = time.perf_counter()
    with torch.npu.stream(side):
        opt.step()
    torch.npu.current_stream().synchronize()
    return (time.perf_counter() - t0) * 1e3


def q(sorted_values, p):
    return sorted_values[round(p * (len(sorted_values) - 1))]


writer = csv.writer(sys.stdout)
writer.writerow(["width", "layers", "params", "steps", "p10_ms", "p50_ms", "p90_ms", "max_ms"])
for width, layers in [(128, 4), (256, 4), (512, 4), (768, 2)]:
    torch.manual_seed(width)
    net, opt = build(width, layers)
    before = net[0].weight.detach().cpu().clone()
    for _ in range(WARMUP):
        timed_step(opt)
    torch.npu.synchronize()
    assert not torch.equal(before, net[0].weight.detach().cpu())
    ms = sorted(timed_step(opt) for _ in range(STEPS))
    torch.npu.synchronize()
    params = sum(p.numel() for p in net.parameters())
    writer.writerow([width, layers, params, STEPS] + [f"{v:.4f}" for v in (q(ms, .1), q(ms, .5), q(ms, .9), ms[-1])])

print("# time of a whole AdamW step in milliseconds, from the call to the parameters being updated on the device;",
      "# float32, default (foreach) implementation, gradients already there and reused, warm cache", sep="\n")
