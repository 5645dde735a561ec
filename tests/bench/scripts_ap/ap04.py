import functools
import time

import numpy as np
import torch
import torch_npu

side = torch.npu.Stream()


def timed(warmup=10, samples=50):
    """Turns a function of one input into one that returns the microseconds of each of its calls."""
    def wrap(fn):
        @functools.wraps(fn)
        def run(inputs):
            for i in range(warmup):
                fn(inputs[i % len(inputs)])
            torch.npu.synchronize()
            us = np.empty(samples)
            for i in range(samples):
                x = inputs[(warmup + i) % len(inputs)]
                torch.npu.synchronize()
                begin = time.perf_counter()
                fn(x)
                torch.npu.current_stream().synchronize()
                us[i] = (time.perf_counter() - begin) * 1e6
            torch.npu.synchronize()
            return us
        run.plain = fn
        return run
    return wrap


@timed()
def transpose_copy(x):
    with torch.npu.stream(side):
        return x.t().contiguous()


def main():
    print("transpose copy, fp32, x.t().contiguous() on a side stream; inputs cycle through more than the 192 MB of L2")
    for rows, cols in [(1024, 4096), (4096, 1024), (2048, 2048)]:
        nbytes = rows * cols * 4
        inputs = [torch.randn(rows, cols, device="npu") for _ in range((200 << 20) // nbytes + 1)]
        torch.npu.synchronize()

        y = transpose_copy.plain(inputs[0])
        torch.npu.synchronize()
        assert torch.equal(y.cpu(), inputs[0].cpu().t().contiguous())

        us = transpose_copy(inputs)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        rate = 2 * nbytes / (p50 * 1e-6) / 1e9
        print(f"{rows:5d} x {cols:<5d} median {p50:8.2f} us (p10 {p10:.2f}, p90 {p90:.2f}, n={len(us)})"
              f"  -> {rate:8.1f} GB/s read + written")


if __name__ == "__main__":
    main()
