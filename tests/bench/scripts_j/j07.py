"""SiLU as one launch or as two? A round times a batch of each, and which one begins alternates from round to round."""

import json
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

CALLS, ROUNDS = 15, 30


def batch(fn, x):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        fn(x)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - start) / CALLS / 1e3


candidates = {"two_launches": lambda x: x * torch.sigmoid(x), "one_launch": F.silu}
report = {"clock": "perf_counter_ns", "dtype": "float32", "cache": "input warm in L2", "calls": CALLS, "results": []}

for shape in [(256, 256), (512, 1024), (1024, 2048)]:
    x = (torch.arange(shape[0] * shape[1]) % 33 / 8 - 2).reshape(shape).npu()
    results = [fn(x).cpu() for fn in candidates.values()]
    assert torch.allclose(*results, atol=1e-5), "the candidates disagree"
    for fn in candidates.values():
        batch(fn, x)
        batch(fn, x)
    samples = {name: [] for name in candidates}
    for number in range(ROUNDS):
        names = list(candidates)
        if number % 2:
            names.reverse()
        for name in names:
            samples[name].append(batch(candidates[name], x))
    ratio = np.array(samples["two_launches"]) / np.array(samples["one_launch"])
    report["results"].append(
        {
            "shape": shape,
            "rounds": ROUNDS,
            "us": {
                name: dict(zip(("p10", "p50", "p90"), np.percentile(v, (10, 50, 90)).round(2).tolist()))
                for name, v in samples.items()
            },
            "ratio_within_round": dict(
                zip(("p25", "p50", "p75"), np.percentile(ratio, (25, 50, 75)).round(3).tolist())
            ),
        }
    )

print(json.dumps(report, indent=1))
