"""AdamW step: foreach implementation vs. the fused one. Output: CSV."""
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

VOCAB, WIDTH, LAYERS = 3000, 96, 4
STEPS, WARM = 15, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)


def build():
    torch.manual_seed(0)
    net = nn.ModuleDict({
        "embed": nn.Embedding(VOCAB, WIDTH),
        "blocks": nn.ModuleList(Block() for _ in range(LAYERS)),
    }).npu()
    for p in net.parameters():
        p.grad = torch.randn_like(p) * 1e-2
    return net


def decayed(net):
    for name, p in net.named_parameters():
        if p.ndim == 2 and not name.startswith("embed"):
            yield p


def foreach_optimizer(net):
    return torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01, foreach=True)


def fused_optimizer(net):
    groups = [{"params": list(decayed(net)), "weight_decay": 0.01}]
    return torch.optim.AdamW(groups, lr=1e-3, fused=True)


def step_ms(opt):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    opt.step()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e3


def main():
    net = build()
    total = sum(p.numel() for p in net.parameters())
    sides = {"foreach": foreach_optimizer(net), "fused": fused_optimizer(net)}
    for opt in sides.values():
        for _ in range(WARM):
            step_ms(opt)

    laps = {name: [] for name in sides}
    order = list(sides)
    for _ in range(STEPS):
        for name in order:
            laps[name].append(step_ms(sides[name]))
        order.reverse()

    mid = {name: statistics.median(v) for name, v in laps.items()}
    print("impl,parameters,steps,median_ms,min_ms,max_ms,vs_foreach")
    for name, v in laps.items():
        print(f"{name},{total},{STEPS},{mid[name]:.3f},{min(v):.3f},{max(v):.3f},{mid[name] / mid['foreach']:.2f}")
    print("# wall time of optimizer.step() and the wait behind it, both on the model above, float32, in alternating order")


if __name__ == "__main__":
    main()
