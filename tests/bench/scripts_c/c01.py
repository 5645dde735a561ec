# lies: warmup
# a decorator that prints its own statistics; the first call is in them
import time, functools, statistics
import torch, torch_npu


def profile_calls(n):
    def deco(f):
        @functools.wraps(f)
        def inner(*a, **k):
            ts = []
            for _ in range(n):
                torch.npu.synchronize()
                t = time.perf_counter()
                for _ in range(30):
                    f(*a, **k)
                torch.npu.synchronize()
                ts.append((time.perf_counter() - t) / 30 * 1e3)
            print(f"{f.__name__}{tuple(a[0].shape)}: {statistics.mean(ts):.4f} ms, stdev {statistics.stdev(ts):.4f} ms")

        return inner

    return deco


@profile_calls(8)
def rms(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)


for s in ((64, 512), (1, 4096)):
    rms(torch.rand(*s).npu())
