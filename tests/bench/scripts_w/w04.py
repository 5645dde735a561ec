"""How long does Python need to hand operators over to the queue? (The host's cost; the card's is in the last column.)"""
import csv
import sys
import time

import numpy as np
import torch
import torch_npu

BURST, ROUNDS = 24, 80


def chains():
    a = torch.randn(256, 256).npu()
    b = torch.randn(256, 256).npu()
    out = torch.empty_like(a)

    def one():
        torch.add(a, b, out=out)

    def two():
        torch.add(a, b, out=out)
        out.mul_(0.5)

    def four():
        torch.add(a, b, out=out)
        out.mul_(0.5)
        out.clamp_(-1, 1)
        out.neg_()

    half = (a.cpu() + b.cpu()) * 0.5
    for call, wanted in (one, half * 2), (two, half), (four, -half.clamp(-1, 1)):
        call()
        assert torch.allclose(out.cpu(), wanted, atol=1e-6), call.__name__
    return {"one": (1, one), "two": (2, two), "four": (4, four)}


def burst(call):
    """(until the last call has returned, until the card has finished), both for the whole burst, in us."""
    torch.npu.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(BURST):
        call()
    handed_over = time.perf_counter_ns()
    torch.npu.synchronize()
    finished = time.perf_counter_ns()
    return (handed_over - begin) / 1e3, (finished - begin) / 1e3


def main():
    candidates = chains()
    for _, call in candidates.values():
        for _ in range(5):
            burst(call)

    taken = {name: [] for name in candidates}
    order = list(candidates)
    rng = np.random.default_rng(11)
    for _ in range(ROUNDS):
        rng.shuffle(order)
        for name in order:
            taken[name].append(burst(candidates[name][1]))

    print(f"# 256 x 256 float32; {ROUNDS} bursts of {BURST} calls each, in drawn order; us per operator")
    table = csv.writer(sys.stdout)
    table.writerow(["chain", "operators", "issue_p50", "issue_p10", "issue_p90", "done_p50", "done_p10", "done_p90"])
    for name, (operators, _) in candidates.items():
        each = np.array(taken[name]) / (BURST * operators)
        assert len(each) == ROUNDS
        row = [np.percentile(each[:, column], q) for column in (0, 1) for q in (50, 10, 90)]
        table.writerow([name, operators] + [f"{v:.2f}" for v in row])
    print("# issue: the host's time until the calls have returned; done: with the wait for the card")


if __name__ == "__main__":
    main()
