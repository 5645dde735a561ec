"""How long does one optimised call take? Percentiles over 20 calls, 64 x 64 and 256 x 256."""
import time
import numpy as np
import torch
import torch_npu

def layer(x):
    return torch.tanh(x) * 0.5 + x

def optimised(x):
    torch._dynamo.reset()
    return torch.compile(layer, backend="eager")(x)

def sample(f, *args):
    torch.npu.synchronize()
    t = time.perf_counter()
    f(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6

for n in (64, 256):
    x = torch.ones(n, n).npu()
    [sample(optimised, x) for _ in range(3)]
    t = [sample(optimised, x) for _ in range(20)]
    print(n, "x", n, "P50/P90/P99 us:", np.percentile(t, [50, 90, 99]).round(1))
