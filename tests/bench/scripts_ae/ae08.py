"""Does addmm's fused bias pay? Low-rank up projection of the decoder, both ways, judged in shuffled pairs."""
import random
import statistics as st

import torch
import labkit  # noqa: F401

M, K, N = 2048, 16, 2048


class Weights:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed)
        self.w = (torch.randn(K, N, generator=g) / K ** 0.5).to(torch.float16).npu()
        self.b = torch.randn(N, generator=g).npu()
        self.b16 = self.b.to(torch.float16)


def separate(x, p):
    """Product, then bias."""
    return torch.matmul(x, p.w) + p.b


def fused(x, p):
    """One call, bias added on the way out."""
    return torch.addmm(p.b16, x, p.w)


def once(fn, *args):
    a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
    a.record()
    fn(*args)
    b.record()
    return a, b


def shuffled_pairs(x, p, count, seed=11):
    draw, rows = random.Random(seed), []
    for _ in range(count):
        order = draw.sample((separate, fused), 2)
        rows.append({fn.__name__: once(fn, x, p) for fn in order})
    torch.npu.synchronize()
    return [{k: 1e3 * a.elapsed_time(b) for k, (a, b) in row.items()} for row in rows]


def main():
    p = Weights(0)
    x = torch.randn(M, K, generator=torch.Generator().manual_seed(1)).to(torch.float16).npu()
    # right first
    assert torch.allclose(separate(x, p).cpu().half(), fused(x, p).cpu(), rtol=2e-2, atol=2e-2)
    shuffled_pairs(x, p, 10)
    rows = shuffled_pairs(x, p, 40)
    ratios = sorted(r["separate"] / r["fused"] for r in rows)
    for name in ("separate", "fused"):
        q = st.quantiles([r[name] for r in rows], n=10)
        print(f"{name:9} p10 {q[0]:6.1f}  p50 {q[4]:6.1f}  p90 {q[8]:6.1f} us")
    low, high = ratios[len(ratios) // 4], ratios[-len(ratios) // 4]
    print(f"[{M} x {K}] @ [{K} x {N}] + bias, fp16, weights warm in the L2, {len(rows)} pairs in drawn order")
    print(f"fusing the bias into the product makes the projection {st.median(ratios):.2f} times as fast "
          f"(quartiles of the pairs {low:.2f} and {high:.2f})")


if __name__ == "__main__":
    main()
