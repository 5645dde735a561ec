import labkit
import functools
import time

import numpy as np
import torch


def kernel_time(repeat=100, warm=20):
    """Decorator: the function returns the times of its kernel on the device, in microseconds."""
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            for _ in range(warm):
                function(*args)
            torch.npu.synchronize()
            times = np.empty(repeat)
            for i in range(repeat):
                t0 = time.perf_counter_ns()
                function(*args)
                torch.npu.synchronize()
                times[i] = (time.perf_counter_ns() - t0) / 1e3
            return times
        return wrapper
    return decorate


@kernel_time()
def softmax(x):
    return torch.softmax(x, dim=-1)


def main():
    print("softmax over the last dimension, float32, inputs stay in L2 (warm)")
    for rows, columns in ((64, 512), (128, 1024), (256, 1024)):
        x = torch.randn(rows, columns, device="npu")
        us = softmax(x)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        moved = 2 * x.numel() * x.element_size()
        print(f"{rows:4} x {columns:4}: the kernel runs {p50:.1f} us on the device "
              f"(p10 {p10:.1f}, p90 {p90:.1f}, n={len(us)}), {moved / p50 / 1e3:.1f} GB/s through L2")
        longest = p50
    print(f"So the device can run at most {1e6 / longest:,.0f} of the largest softmax a second, one after the other.")


main()
