"""How fast does layer_norm stream its data from HBM?"""
import statistics as st
import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(1024, 2048), (2048, 2048), (1024, 4096)]
REPS, INNER = 12, 6


def run(x, w, b):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(INNER):
        F.layer_norm(x, (x.shape[-1],), w, b)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / INNER


def main():
    print("layer_norm, fp32, weight and bias; bytes = one read and one write of the activations")
    for rows, cols in SHAPES:
        x = torch.randn(rows, cols, device="npu")
        w = torch.rand(cols, device="npu")
        b = torch.rand(cols, device="npu")
        y = F.layer_norm(x[:8], (cols,), w, b).cpu()
        torch.testing.assert_close(y, F.layer_norm(x[:8].cpu(), (cols,), w.cpu(), b.cpu()), rtol=1e-3, atol=1e-3)
        for _ in range(3):
            run(x, w, b)
        secs = [run(x, w, b) for _ in range(REPS)]
        gbs = [2 * x.numel() * 4 / s / 1e9 for s in secs]
        deciles = st.quantiles(gbs, n=10)
        print(f"[{rows}, {cols}] ({x.numel() * 4 / 2**20:.0f} MiB): {st.median(secs) * 1e6:.1f} us per call, "
              f"HBM bandwidth {st.median(gbs):.0f} GB/s (p10 {deciles[0]:.0f}, p90 {deciles[-1]:.0f}, n={REPS})")


if __name__ == "__main__":
    main()
