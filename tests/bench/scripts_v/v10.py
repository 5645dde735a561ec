"""Client-side latency of a small classifier: upload + forward + download, one request in flight."""
import time
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn as nn
import torch_npu

BATCHES, N, WARMUP = (1, 8, 32), 100, 20


def build():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )


@contextmanager
def lap(into):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    yield
    torch.npu.synchronize()
    into.append((time.perf_counter() - t0) * 1e3)


def quantile_with_range(ms, q, seed=0):
    rng = np.random.default_rng(seed)
    boot = np.quantile(ms[rng.integers(0, len(ms), (2000, len(ms)))], q, axis=1)
    return np.quantile(ms, q), *np.percentile(boot, [2.5, 97.5])


@torch.inference_mode()
def main():
    host_model = build().eval()
    model = build().to("npu").eval()
    print(f"{N} requests per batch size after {WARMUP} unrecorded warm-up requests; every recorded request counts.")
    print("Inputs are pageable host tensors made beforehand; the figure includes both copies and the wait.")
    for size in BATCHES:
        requests = [torch.randn(size, 3, 48, 48) for _ in range(N)]
        for x in requests[:WARMUP]:
            model(x.to("npu")).cpu()
        ms, answers = [], []
        for x in requests:
            with lap(ms):
                answers.append(model(x.to("npu")).cpu())
        torch.testing.assert_close(answers[0], host_model(requests[0]), rtol=1e-2, atol=1e-3)
        assert len(ms) == N
        ms = np.array(ms)
        line = f"batch {size:3d}:"
        for q in (0.5, 0.9):
            v, lo, hi = quantile_with_range(ms, q)
            line += f"  p{int(q * 100)} {v:.3f} ms (95% {lo:.3f}-{hi:.3f})"
        print(f"{line}  max seen {ms.max():.3f} ms")


if __name__ == "__main__":
    main()
