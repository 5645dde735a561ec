"""CI perf check: which spelling of the dense layer should the library use?

Runs F.linear and torch.addmm on the same operands and prints the winner per shape.
"""
import argparse
import json
import time

import labkit  # noqa: F401
import torch
import torch.nn.functional as F

SHAPES = [(512, 1024, 1024), (1024, 2048, 2048), (2048, 2048, 4096)]


class BestOf:
    """Collects timings of one candidate and keeps the best one."""

    def __init__(self, fn, calls):
        self.fn, self.calls, self.best = fn, calls, float("inf")

    def measure(self):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for _ in range(self.calls):
            self.fn()
        torch.npu.synchronize()
        self.best = min(self.best, (time.perf_counter() - t0) / self.calls * 1e6)


def compare(m, k, n, rounds, calls):
    x = torch.randn(m, k, device="npu", dtype=torch.bfloat16)
    w = torch.randn(n, k, device="npu", dtype=torch.bfloat16)
    bias = torch.randn(n, device="npu", dtype=torch.bfloat16)
    wt = w.t()
    cands = {
        "F.linear": BestOf(lambda: F.linear(x, w, bias), calls),
        "addmm": BestOf(lambda: torch.addmm(bias, x, wt), calls),
    }
    for c in cands.values():
        for _ in range(5):
            c.fn()
    torch.npu.synchronize()
    for r in range(rounds):
        order = list(cands.values())
        if r % 2:
            order.reverse()
        for c in order:
            c.measure()
    return {name: c.best for name, c in cands.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=4)
    ap.add_argument("--calls", type=int, default=8)
    args = ap.parse_args()
    report = []
    for shape in SHAPES:
        best = compare(*shape, args.rounds, args.calls)
        winner = min(best, key=best.get)
        loser = max(best, key=best.get)
        gain = (best[loser] / best[winner] - 1) * 100
        report.append({"shape": shape, **best, "winner": winner})
        print(f"{str(shape):<22} F.linear {best['F.linear']:8.2f} us   "
              f"addmm {best['addmm']:8.2f} us   -> {winner} is {gain:.2f}% faster")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
