# right
# CUDA script, argparse, percentiles, warm-up by count
import argparse
import time
import torch
import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--sizes", type=int, nargs="+", default=[64, 256])
p.add_argument("--iters", type=int, default=40)
p.add_argument("--warmup", type=int, default=5)
args = p.parse_args()
sync = torch.cuda.synchronize
for n in args.sizes:
    x = torch.rand(n, n, device="cuda")
    f = lambda: torch.mm(x, x).relu_()
    for _ in range(args.warmup):
        f()
    sync()
    t = np.zeros(args.iters)
    for i in range(args.iters):
        s = time.perf_counter()
        for _ in range(50):
            f()
        sync()
        t[i] = (time.perf_counter() - s) / 50
    t *= 1e6
    print(
        f"mm+relu n={n} mean={t.mean():.2f}us std={t.std():.2f}us p50={np.percentile(t, 50):.2f}us p99={np.percentile(t, 99):.2f}us"
    )
