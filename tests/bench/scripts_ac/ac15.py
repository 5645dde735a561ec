"""Throughput of layer_norm, timed in blocks with one wait behind each."""
import functools
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

clock = time.process_time


def blocks(calls, samples, warm=10):
    """Decorator: the function becomes its list of seconds a call."""
    def wrap(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            for _ in range(warm):
                function(*args, **kwargs)
            torch.npu.synchronize()
            out = []
            for _ in range(samples):
                begin = clock()
                for _ in range(calls):
                    function(*args, **kwargs)
                torch.npu.synchronize()
                out.append((clock() - begin) / calls)
            return out
        return run
    return wrap


@blocks(calls=40, samples=20)
def normalise(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def main():
    torch.manual_seed(9)
    for rows, width in ((128, 256), (512, 512), (1024, 1024)):
        x = torch.randn(rows, width, device="npu")
        weight, bias = torch.ones(width, device="npu"), torch.zeros(width, device="npu")
        seconds = normalise(x, weight, bias)
        q1, mid, q3 = (v * 1e6 for v in statistics.quantiles(seconds, n=4))
        print(f"layer_norm {rows}x{width}: {mid:.1f} us a call, IQR {q1:.1f}..{q3:.1f}, "
              f"{rows * width / mid / 1e3:.2f} G elements/s, {len(seconds)} blocks of 40")


if __name__ == "__main__":
    main()
