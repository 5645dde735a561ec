"""Dropout, timed by a decorator."""
import functools
from statistics import quantiles

import torch
import torch.nn.functional as F
import torch_npu


def clocked(samples=40, calls=5, warm=3):
    """The decorated function returns (its last result, device us of a call in each of the samples)."""
    def around(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            for _ in range(warm * calls):
                function(*args, **kwargs)
            marks = []
            for _ in range(samples):
                begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                begin.record()
                for _ in range(calls):
                    result = function(*args, **kwargs)
                end.record()
                marks.append((begin, end))
            torch.npu.synchronize()
            return result, [1e6 * begin.elapsed_time(end) / calls for begin, end in marks]
        return inner
    return around


@clocked()
def dropout(x, p):
    return F.dropout(x, p, training=True)


def main():
    torch.manual_seed(0)
    print("F.dropout in training mode, float32, hot L2; 40 samples, each the average of 5 calls between two events")
    for shape in (16, 512), (32, 512), (64, 512):
        x = torch.ones(shape).npu()
        for p in 0.1, 0.5:
            y, us = dropout(x, p)
            kept = y.ne(0).float().mean().item()
            assert abs(kept - (1 - p)) < 0.04, kept
            q1, q2, q3 = quantiles(us, n=4)
            print(f"  {shape[0]:4} x {shape[1]:<5} p={p}: median {q2:9.2f} us a call, quartiles {q1:.2f} .. {q3:.2f}, worst {max(us):.2f}; kept {kept:.3f}")


main()
