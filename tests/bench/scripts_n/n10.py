"""What does half precision bring for matmul?"""
import functools

import numpy as np
import torch
import torch_npu

TABLE = []


def timed(blocks=8, calls=4, warmup=4):
    def wrap(fn):
        @functools.wraps(fn)
        def run(*args, label, flop):
            for _ in range(warmup):
                fn(*args)
            marks = []
            for _ in range(blocks):
                a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                a.record()
                for _ in range(calls):
                    fn(*args)
                b.record()
                marks.append((a, b))
            torch.npu.synchronize()
            us = np.array([1e3 * a.elapsed_time(b) / calls for a, b in marks])
            p50, p90 = np.percentile(us, [50, 90])
            TABLE.append((label, p50, p90, flop / p50 / 1e6))

        return run

    return wrap


def operands(n, dtype):
    a, b = torch.randn(n, n).npu(), torch.randn(n, n).npu()
    a.to(dtype), b.to(dtype)
    return a, b


@timed()
def matmul(a, b):
    return a @ b


for n in (256, 512, 768):
    for name, dtype in (("fp32", torch.float32), ("fp16", torch.float16)):
        matmul(*operands(n, dtype), label=f"{n}^3 {name}", flop=2 * n**3)

print("square matmul, 8 blocks of 4 calls, operands warm in L2")
for label, p50, p90, tflops in TABLE:
    print(f"{label:12} P50 {p50:8.2f} us   P90 {p90:8.2f} us   {tflops:7.2f} TFLOP/s")
gains = [TABLE[i][1] / TABLE[i + 1][1] for i in range(0, len(TABLE), 2)]
print("fp16 over fp32 at 256, 512, 768: " + ", ".join(f"{g:.2f}x" for g in gains))
