import json
import statistics
import time

import torch
import torch_npu  # noqa: F401


class Duel:
    """Two ways to one result, timed in turn A B B A so that neither is always the first."""

    def __init__(self, shape):
        self.shape = shape
        self.x = torch.full(shape, 0.25, dtype=torch.float16, device="npu")
        self.ways = {"split": lambda: self.x * torch.sigmoid(self.x), "silu": lambda: torch.nn.functional.silu(self.x)}
        self.log = {name: [] for name in self.ways}

    def lap(self, name, calls=20):
        fn = self.ways[name]
        torch.npu.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            fn()
        torch.npu.synchronize()
        return (time.perf_counter_ns() - start) / calls / 1000

    def run(self, rounds=10):
        torch.testing.assert_close(self.ways["split"](), self.ways["silu"](), rtol=1e-2, atol=1e-2)
        for name in self.ways:
            self.lap(name)
        for _ in range(rounds):
            for name in ("split", "silu", "silu", "split"):
                self.log[name].append(self.lap(name))
        quart = {name: [round(v, 2) for v in statistics.quantiles(log, n=4)] for name, log in self.log.items()}
        return {"shape": self.shape, "dtype": "float16", "L2": "warm", "unit": "us", "quartiles": quart}


print(json.dumps([Duel(shape).run() for shape in ((64, 64), (256, 512), (768, 1024))], indent=1))
