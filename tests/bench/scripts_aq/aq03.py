"""Eager against torch.compile for a SiLU gate; the figures go into a pandas table."""
import time

import pandas as pd
import torch
import torch_npu
import torch.nn.functional as F

ROUNDS, CALLS = 6, 10


def gate(a, b):
    return F.silu(a) * b


def burst(fn, pairs):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for i in range(CALLS):
        fn(*pairs[i % len(pairs)])
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


def eager_run(pairs):
    return burst(gate, pairs)


def compiled_run(pairs):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    torch._dynamo.reset()
    fn = torch.compile(gate, dynamic=False)
    for i in range(CALLS):
        fn(*pairs[i % len(pairs)])
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


rows = []
for shape in [(64, 256), (128, 512), (256, 512)]:
    pairs = [tuple(torch.randn(shape, device="npu") for _ in range(2)) for _ in range(4)]
    torch.testing.assert_close(torch.compile(gate)(*pairs[0]).cpu(), gate(*pairs[0]).cpu(),
                               rtol=1e-4, atol=1e-5)
    for run in (eager_run, compiled_run):
        run(pairs)
    for r in range(ROUNDS):
        order = [("eager", eager_run), ("compiled", compiled_run)]
        for name, run in order if r % 2 == 0 else order[::-1]:
            rows.append({"shape": str(shape), "variant": name, "us": run(pairs)})

table = pd.DataFrame(rows).groupby(["shape", "variant"])["us"].describe()[["count", "min", "50%", "max"]]
print(table.round(2).to_string())
print("us per call of the SiLU gate in steady state (fp32, inputs hot in L2): "
      "the time one call takes in a long-running service.")
