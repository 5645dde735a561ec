"""Time of the optimizer's update, pytest-benchmark style.

`benchmark` mimics the fixture: rounds, warm-up rounds, and a table of the statistics. Each optimizer updates the
same parameters from the same gradients, so that every round does the same arithmetic. Device events around each
round; one wait behind the last.
"""
import statistics

import torch
import torch_npu

SIZES = ((128, 128), (256, 256), (512, 256))


class Benchmark:
    def __init__(self, group):
        self.group = group
        self.rows = []

    def pedantic(self, name, target, rounds=30, warmup_rounds=6):
        for _ in range(warmup_rounds):
            target()
        torch.npu.synchronize()
        marks = []
        for _ in range(rounds):
            pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            pair[0].record()
            target()
            pair[1].record()
            marks.append(pair)
        torch.npu.synchronize()
        us = [a.elapsed_time(b) * 1e3 for a, b in marks]
        self.rows.append((name, min(us), statistics.median(us), max(us), statistics.stdev(us), rounds))

    def table(self):
        print(f"-- benchmark: {self.group} " + "-" * 30)
        print(f"{'name (time of the update in us)':34}{'min':>9}{'median':>9}{'max':>9}{'stddev':>9}{'rounds':>8}")
        for name, low, middle, high, deviation, rounds in self.rows:
            print(f"{name:34}{low:9.2f}{middle:9.2f}{high:9.2f}{deviation:9.2f}{rounds:8d}")


class Fixture:
    """Parameters with gradients and one optimizer over them."""

    def __init__(self, shape, **options):
        torch.manual_seed(9)
        self.weights = [torch.nn.Parameter(torch.randn(*shape).npu()) for _ in range(4)]
        for weight in self.weights:
            weight.grad = torch.randn_like(weight)
        self.start = [weight.detach().clone() for weight in self.weights]
        self.optimizer = torch.optim.SGD(self.weights, **options)

    def update(self):
        with torch.no_grad():
            for weight, start in zip(self.weights, self.start):
                weight.copy_(start)
        self.optimizer.step()


def main():
    benchmark = Benchmark("optimizer.step(), 4 float32 matrices, warm L2")
    for shape in SIZES:
        fixture = Fixture(shape, lr=1e-3, foreach=False)
        benchmark.pedantic(f"sgd_step[{shape[0]}x{shape[1]}]", fixture.update)
    benchmark.table()


main()
