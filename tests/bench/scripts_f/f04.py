import random
import statistics
import torch
import torch_npu


class Contest:
    """Two activations, in turn. The winner is printed for each width."""

    def __init__(self, **sides):
        self.sides = sides
        self.us = {name: [] for name in sides}

    def lap(self, name):
        function, x = self.sides[name]
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(10):
            function(x)
        b.record()
        return a, b

    def run(self, rounds=40):
        for name in list(self.sides) * 3:
            self.lap(name)
        laps = []
        for _ in range(rounds):
            for name in random.sample(list(self.sides), 2):
                laps.append((name, *self.lap(name)))
        torch.npu.synchronize()
        for name, a, b in laps:
            self.us[name].append(a.elapsed_time(b) * 100)
        q = {name: statistics.quantiles(us, n=4) for name, us in self.us.items()}
        best = min(q, key=lambda name: q[name][1])
        print("winner:", best, {name: [round(v, 2) for v in quartiles] for name, quartiles in q.items()}, "us, warm cache")


random.seed(1)
for width in (256, 1024, 4096):
    full = torch.ones(128, width, device="npu")
    part = torch.ones(64, width, device="npu")
    Contest(tanh=(torch.tanh, full), sigmoid=(torch.sigmoid, part)).run()
