"""Histogram-like accumulation with scatter_add_.

scatter_add_ adds to what is there, so the accumulator is cleared before each call, inside
the timed loop, as the caller has to do it as well. The same loop with only the clearing is timed too.
"""
import json
import statistics
import time

import torch
import torch_npu

BINS, WIDTH, ITEMS = 256, 16, 1024
CALLS, ROUNDS = 20, 15


def loop_us(fn):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        fn()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / CALLS * 1e6


def summary(values):
    low, mid, high = statistics.quantiles(values, n=4)
    return {"p25": round(low, 1), "p50": round(mid, 1), "p75": round(high, 1)}


def main():
    torch.manual_seed(23)
    where = torch.randint(0, BINS, (ITEMS,))
    index = where[:, None].expand(ITEMS, WIDTH).contiguous().npu()
    values = torch.rand(ITEMS, WIDTH).npu()
    acc = torch.zeros(BINS, WIDTH, device="npu")

    def clear():
        acc.zero_()

    def clear_and_add():
        acc.zero_()
        acc.scatter_add_(0, index, values)

    for _ in range(5):
        clear()
        clear_and_add()
    torch.npu.synchronize()

    both, only = [], []
    for r in range(ROUNDS):
        jobs = [(clear_and_add, both), (clear, only)]
        for fn, sink in jobs if r % 2 else jobs[::-1]:
            sink.append(loop_us(fn))

    clear_and_add()
    expected = torch.zeros(BINS, WIDTH).index_add_(0, where, values.cpu())
    print(json.dumps({
        "op": "zero_ + scatter_add_(dim=0)",
        "bins": BINS, "width": WIDTH, "items": ITEMS, "distinct_bins_hit": int(where.unique().numel()),
        "rounds": ROUNDS, "calls_per_round": CALLS,
        "us_per_call_clear_and_scatter_add": summary(both),
        "us_per_call_clear_alone": summary(only),
        "note": "host clock, one wait per round; the first figure contains the clearing",
        "matches_cpu": torch.allclose(acc.cpu(), expected, rtol=1e-4, atol=1e-4),
    }, indent=1))


if __name__ == "__main__":
    main()
