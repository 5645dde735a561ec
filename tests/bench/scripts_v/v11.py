"""AdamW.step(): foreach against the per-tensor loop, for a few model depths."""
import argparse
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch_npu


class Trainer:
    def __init__(self, depth, width, foreach):
        torch.manual_seed(0)
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(width, width), nn.LayerNorm(width), nn.GELU()]
        self.model = nn.Sequential(*layers).to("npu")
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=foreach)
        self.x = torch.randn(32, width, device="npu")

    def train_once(self):
        loss = self.model(self.x).square().mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()

    def time_step(self, calls):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for _ in range(calls):
            self.opt.step()
        torch.npu.synchronize()
        return (time.perf_counter() - t0) * 1e6 / calls


def spread(us):
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    return f"{p50:8.1f} us ({p10:.1f}-{p90:.1f})"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--width", type=int, default=128)
    ap.add_argument("--rounds", type=int, default=30)
    ap.add_argument("--calls", type=int, default=5)
    args = ap.parse_args()
    print("optimizer.step() alone, launch included; median and p10-p90 of", args.rounds, "shuffled rounds")
    for depth in (4, 8, 16):
        sides = {"foreach": Trainer(depth, args.width, True), "loop": Trainer(depth, args.width, False)}
        for t in sides.values():
            for _ in range(5):
                t.train_once()
        us = {k: [] for k in sides}
        for _ in range(args.rounds):
            for k in random.sample(list(sides), 2):
                us[k].append(sides[k].time_step(args.calls))
        tensors = sum(1 for _ in sides["loop"].model.parameters())
        print(f"depth {depth:2d} ({tensors} tensors)  foreach {spread(us['foreach'])}   loop {spread(us['loop'])}")


if __name__ == "__main__":
    main()
