"""x.t().contiguous() through torch.compile: cost of a call, with a decorator that turns a function into a benchmark."""
import functools
import time

import numpy as np
import torch
import torch._dynamo
import torch_npu

CALLS, ROUNDS = 40, 5


def bench(*shapes, dtype=torch.float16):
    """Times the compiled function in rounds of CALLS calls over inputs in turn. Every round starts from a clean cache of
    graphs, so that the rounds do not depend on each other."""

    def decorate(fn):
        @functools.wraps(fn)
        def run():
            for shape in shapes:
                xs = [torch.randn(shape, device="npu").to(dtype) for _ in range(4)]
                for i in range(10):
                    fn(xs[i % 4])
                torch.npu.synchronize()

                per_call = []
                for _ in range(ROUNDS):
                    torch._dynamo.reset()
                    torch.npu.synchronize()
                    begin = time.perf_counter()
                    compiled = torch.compile(fn, backend="npu", dynamic=False)
                    for i in range(CALLS):
                        y = compiled(xs[i % 4])
                    torch.npu.synchronize()
                    per_call.append((time.perf_counter() - begin) / CALLS * 1e6)
                assert torch.equal(y.cpu(), fn(xs[(CALLS - 1) % 4]).cpu())
                yield shape, per_call

        return run

    return decorate


@bench((256, 256), (1024, 512), (1024, 1024))
def transpose_copy(x):
    return x.t().contiguous()


print(f"compiled transpose copy, fp16, warm L2 (four inputs in turn): us a call, {ROUNDS} rounds of {CALLS} calls")
for shape, us in transpose_copy():
    print(f"  {shape[0]:5d} x {shape[1]:<5d} median of the rounds {np.median(us):9.2f}   lowest {min(us):9.2f}   highest {max(us):9.2f}")
