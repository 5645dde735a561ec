"""What torch.compile costs once and what it gives afterwards, told apart."""
import logging
import math
import statistics
import time
from dataclasses import dataclass

import torch
import torch_npu
from torch import nn

torch.set_num_threads(1)

logging.basicConfig(format="%(levelname).1s %(message)s", level=logging.INFO)
log = logging.getLogger("compile-cost")


@dataclass
class Outcome:
    shape: tuple
    first: list
    eager: list
    compiled: list

    def report(self):
        def span(values, scale, unit):
            return f"{statistics.median(values) * scale:.2f} {unit} ({min(values) * scale:.2f} to {max(values) * scale:.2f})"

        log.info("input %s float32", " x ".join(map(str, self.shape)))
        log.info("  first call, compilation included: %s, %d fresh compilations", span(self.first, 1e3, "ms"), len(self.first))
        log.info("  later calls, compiled: %s a call, %d rounds", span(self.compiled, 1e6, "us"), len(self.compiled))
        log.info("  later calls, eager:    %s a call, %d rounds", span(self.eager, 1e6, "us"), len(self.eager))
        saved = [e - c for e, c in zip(self.eager, self.compiled)]  # a round of each, one after the other
        if min(saved) > 0:
            calls = math.ceil(statistics.median(self.first) / statistics.median(saved))
            log.info("  faster in every round, pays off after about %s calls at this shape", f"{calls:,}")
        else:
            log.info("  no gain that shows in every round at this shape")


def wall(function, calls=1):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / calls


def study(rows, width, compilations=3, rounds=8, calls=20):
    torch.manual_seed(rows)
    model = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.Sigmoid()).npu().eval()
    x = torch.randn(rows, width, device="npu")
    expected = model(x)

    first = []
    for _ in range(compilations):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="npu")
        first.append(wall(lambda: compiled(x)))
    torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-4)

    wall(lambda: compiled(x), calls)
    wall(lambda: model(x), calls)
    eager, later = [], []
    for number in range(rounds):
        turns = [(eager, model), (later, compiled)]
        for store, function in turns if number % 2 else reversed(turns):
            store.append(wall(lambda: function(x), calls))
    return Outcome((rows, width), first, eager, later)


if __name__ == "__main__":
    with torch.no_grad():
        for rows, width in ((4, 128), (16, 128), (16, 256)):
            study(rows, width).report()
