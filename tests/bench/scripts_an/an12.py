import random
import time

import torch
import torch_npu
import torch.nn.functional as F

# matmul against F.linear for the prompts of a chat service: in each round both get the
# same prompt, whose length is drawn from the lengths seen in production
ROUNDS = 30
random.seed(17)


def prompt_length():
    return min(4096, max(16, int(random.lognormvariate(6.0, 1.1))))


def timed(fn):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def paired(k, n):
    w = torch.randn(n, k, device="npu", dtype=torch.float16) / k ** 0.5
    wt = w.t().contiguous()
    x = torch.randn(64, k, device="npu", dtype=torch.float16)
    for _ in range(10):
        a, b = torch.matmul(x, wt), F.linear(x, w)
    torch.npu.synchronize()
    assert torch.allclose(a.float().cpu(), b.float().cpu(), rtol=1e-2, atol=1e-2)
    t_matmul, t_linear = [], []
    for r in range(ROUNDS):
        x = torch.randn(prompt_length(), k, device="npu", dtype=torch.float16)
        if r % 2:
            t_linear.append(timed(lambda: F.linear(x, w)))
            x = x.clone()
            t_matmul.append(timed(lambda: torch.matmul(x, wt)))
        else:
            t_matmul.append(timed(lambda: torch.matmul(x, wt)))
            x = x.clone()
            t_linear.append(timed(lambda: F.linear(x, w)))
    return sum(t_matmul) / ROUNDS, sum(t_linear) / ROUNDS


print("float16, hot cache, call until result, us; prompt lengths as in production")
for k, n in ((512, 512), (1024, 512), (512, 1536)):
    m, l = paired(k, n)
    faster, gain = ("F.linear", m - l) if l < m else ("matmul", l - m)
    print(f"{k}->{n}: matmul takes {m:.3f} us, F.linear takes {l:.3f} us: "
          f"{faster} saves {gain:.3f} us for each prompt")
