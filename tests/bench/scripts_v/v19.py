"""Operator timings for the embedding side of the recommender."""
import functools
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

VOCAB, DIM, REGISTRY = 20000, 64, {}


def bench(name, sizes):
    def wrap(fn):
        for s in sizes:
            REGISTRY[f"{name}[{s[0]}x{s[1]}]"] = functools.partial(fn, *s)
        return fn
    return wrap


def setup():
    torch.manual_seed(0)
    return {"table": torch.randn(VOCAB, DIM, device="npu"), "flat": torch.randn(VOCAB * DIM, device="npu")}


@bench("embedding", [(64, 20), (256, 20)])
def run_embedding(rows, cols, w):
    ids = torch.randint(0, VOCAB, (rows, cols)).to("npu")
    return F.embedding(ids, w["table"])


@bench("index_select", [(64, 20), (256, 20)])
def run_index_select(rows, cols, w):
    ids = torch.randint(0, VOCAB, (rows * cols,)).to("npu")
    return w["table"].index_select(0, ids)


@bench("take", [(64, 20), (256, 20)])
def run_take(rows, cols, w):
    ids = torch.randint(0, VOCAB * DIM, (rows, cols)).to("npu")
    return torch.take(w["flat"], ids)


def sample(fn, w, calls=10):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        fn(w)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6 / calls


def main(rounds=25):
    w = setup()
    for fn in REGISTRY.values():
        sample(fn, w, calls=30)
    us = {k: [] for k in REGISTRY}
    for _ in range(rounds):
        for k in random.sample(list(REGISTRY), len(REGISTRY)):
            us[k].append(sample(REGISTRY[k], w))
    print(f"{'operator':24s} {'op time us':>11s} {'p10':>8s} {'p90':>8s}")
    for k, v in us.items():
        p10, p50, p90 = np.percentile(v, [10, 50, 90])
        print(f"{k:24s} {p50:11.1f} {p10:8.1f} {p90:8.1f}")
    print(f"operator execution time, fp32 tables on the device, n={rounds}")


if __name__ == "__main__":
    main()
