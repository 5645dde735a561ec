import functools

import torch
import torch.nn.functional as F
import torch_npu


def bench(warmup, samples):
    """Makes of a function without arguments a list of its times on the stream, in microseconds."""

    def wrap(make):
        @functools.wraps(make)
        def timed(*args):
            call = make(*args)
            for _ in range(warmup):
                call()
            torch.npu.synchronize()
            pairs = []
            for _ in range(samples):
                begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
                begin.record()
                call()
                end.record()
                pairs.append((begin, end))
            torch.npu.synchronize()
            return torch.tensor([1e3 * b.elapsed_time(e) for b, e in pairs], dtype=torch.float64)

        return timed

    return wrap


@bench(warmup=10, samples=40)
def dropout(n, p):
    x = torch.randn(n, device="npu")
    return lambda: F.dropout(x, p=p, training=True)


def show(label, us):
    q = torch.quantile(us, torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64))
    print(f"{label:<34} median {q[1]:7.2f} us   quartiles {q[0]:7.2f} .. {q[2]:7.2f}   range {us.min():.2f} .. {us.max():.2f}")


print("F.dropout in training mode, float32: time between two events on the stream around one call (whatever the stream")
print("waits for the host in between is in it). One input used again each time: hot L2.")
for n in (1 << 14, 1 << 16, 3 << 16):
    show(f"dropout p=0.1, {n} elements", dropout(n, 0.1))
    show(f"dropout p=0.5, {n} elements", dropout(n, 0.5))
