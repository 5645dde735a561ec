# right
import functools
import time
import torch
import torch_npu
from statistics import quantiles


def benchmark(warm=5, rounds=12, calls=40):
    def wrap(fn):
        @functools.wraps(fn)
        def run(*args):
            for _ in range(warm):
                fn(*args)
            torch.npu.synchronize()
            laps = []
            for _ in range(rounds):
                start = time.perf_counter()
                for _ in range(calls):
                    fn(*args)
                torch.npu.synchronize()
                laps.append((time.perf_counter() - start) / calls)
            return quantiles(laps, n=10)

        return run

    return wrap


@benchmark()
def mlp(x, w1, w2):
    return torch.relu(x @ w1) @ w2


w1, w2 = torch.randn(256, 512).npu(), torch.randn(512, 256).npu()
for batch in (8, 64, 256):
    q = mlp(torch.randn(batch, 256).npu(), w1, w2)
    print(f"mlp batch={batch} 256-512-256  P10 {q[0] * 1e6:.1f}  P50 {q[4] * 1e6:.1f}  P90 {q[8] * 1e6:.1f} us")
