"""Row reductions of float32 matrices on the NPU: cost of a call, by operator and shape, input left in the L2."""
import statistics
import time

import torch
import torch_npu  # noqa: F401

SHAPES = ((256, 1024), (1024, 1024), (2048, 2048))
OPERATORS = {"sum": torch.sum, "amax": torch.amax, "mean": torch.mean, "std": torch.std}
ROUNDS, CALLS = 10, 20


def round_us(function):
    """One wait behind CALLS calls; us per call."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        function()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / CALLS * 1e6


def cases():
    for name, operator in OPERATORS.items():
        for shape in SHAPES:
            x = torch.rand(shape).npu()
            torch.npu.synchronize()
            yield name, shape, lambda operator=operator, x=x: operator(x, dim=-1)


def results():
    for name, shape, function in cases():
        us = [round_us(function) for _ in range(ROUNDS)]
        yield name, shape, statistics.mean(us), statistics.stdev(us), min(us), max(us)


def main():
    totals = dict.fromkeys(OPERATORS, 0.0)
    print(f"{'operator':9}{'shape':>12}{'mean':>9}{'std':>9}{'min':>9}{'max':>9}   us per call, {ROUNDS} rounds of {CALLS}")
    for name, shape, mean, std, low, high in results():
        totals[name] += mean
        print(f"{name:9}{'x'.join(map(str, shape)):>12}{mean:9.1f}{std:9.1f}{low:9.1f}{high:9.1f}")
    for name, total in totals.items():
        print(f"{name}: {total:.1f} us for the three shapes together (sum of the means)")


if __name__ == "__main__":
    main()
