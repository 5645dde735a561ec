"""optimizer_cost: what one optimizer step costs on the device, as JSON.

    python r04.py --width 256 512 1024 --steps 25 > steps.json
"""
import argparse
import json
import random
import sys

import numpy as np
import torch
import torch_npu  # noqa: F401

FACTORIES = {
    "sgd+momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3),
}


class Stepper:
    """One model with gradients, and an optimizer that works on the update stream as in our trainer."""

    def __init__(self, width, factory, update):
        torch.manual_seed(width)
        self.model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4))).npu()
        self.update = update
        self.opt = factory(self.model.parameters())
        self.model(torch.randn(8, width).npu()).square().mean().backward()
        torch.npu.synchronize()

    def __call__(self):
        with torch.npu.stream(self.update):
            self.opt.step()


def timed(step):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    step()
    end.record()
    return begin, end


def measure(width, steps, dice):
    update = torch.npu.Stream()
    steppers = {name: Stepper(width, make, update) for name, make in FACTORIES.items()}
    for _ in range(6):
        for step in steppers.values():
            step()
    torch.npu.synchronize()
    marks = {name: [] for name in steppers}
    for _ in range(steps):
        for name in dice.sample(list(steppers), len(steppers)):
            marks[name].append(timed(steppers[name]))
    torch.npu.synchronize()
    out = {}
    for name, pairs in marks.items():
        us = [1e3 * a.elapsed_time(b) for a, b in pairs]
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        out[name] = {"median_us": round(p50, 2), "p10_us": round(p10, 2), "p90_us": round(p90, 2), "n": len(us)}
    return out


def main():
    cli = argparse.ArgumentParser(description=__doc__)
    cli.add_argument("--width", type=int, nargs="+", default=[256, 512, 1024])
    cli.add_argument("--steps", type=int, default=25)
    cli.add_argument("--seed", type=int, default=9)
    args = cli.parse_args()
    dice = random.Random(args.seed)
    report = {
        "what": "optimizer.step() alone: device time of one step, 4 linear layers of width^2, float32, gradients given",
        "state": "parameters as the step before left them in the L2; the optimizers take turns in drawn order",
        "widths": {str(w): measure(w, args.steps, dice) for w in args.width},
    }
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
