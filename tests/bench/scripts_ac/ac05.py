"""Dispatch cost: what one eager call costs the Python thread that makes it.

The device runs behind; its own time is no part of this number.
"""
import gc
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

CALLS = 64
SAMPLES = 30


def issue_cost(call):
    """us of the calling thread per call, the queue empty at the start and never full."""
    samples = np.empty(SAMPLES)
    for i in range(SAMPLES):
        torch.npu.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        samples[i] = (time.perf_counter_ns() - begin) / 1e3 / CALLS
        torch.npu.synchronize()
    return samples


def main():
    torch.manual_seed(1)
    gc.collect()
    gc.disable()
    rows = []
    for side in (8, 32, 64):
        a = torch.randn(side, side, device="npu")
        b = torch.randn(side, side, device="npu")
        out = torch.empty_like(a)
        calls = {
            "add_": lambda: a.add_(0.0),
            "mul(out=)": lambda: torch.mul(a, b, out=out),
            "neg": lambda: torch.neg(a),
        }
        for call in calls.values():
            for _ in range(CALLS):
                call()
        torch.npu.synchronize()
        for name, call in calls.items():
            rows.append((side, name, issue_cost(call)))
    gc.enable()
    print("host time to issue a call (the kernel is not waited for), us per call")
    for side, name, us in rows:
        q = np.percentile(us, [5, 50, 95])
        print(f"{side:3d}x{side:<3d} {name:10s} median {q[1]:7.2f}   P5 {q[0]:7.2f}   P95 {q[2]:7.2f}   n={us.size}x{CALLS}")


if __name__ == "__main__":
    main()
