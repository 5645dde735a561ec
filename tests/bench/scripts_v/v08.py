"""Which spelling of a linear layer should the model use: F.linear or torch.addmm?"""
import random
import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(64, 256, 256), (128, 256, 512), (256, 512, 256)]


def repeat(fns, rounds=15, number=10):
    """Seconds per call of every candidate, in shuffled rounds."""
    out = {name: [] for name in fns}
    for _ in range(rounds):
        for name in random.sample(list(fns), len(fns)):
            fn = fns[name]
            torch.npu.synchronize()
            t0 = time.perf_counter()
            for _ in range(number):
                fn()
            torch.npu.synchronize()
            out[name].append((time.perf_counter() - t0) / number)
    return out


@torch.no_grad()
def main():
    torch.manual_seed(0)
    score = {"F.linear": [], "addmm": []}
    print(f"{'m,k,n':>16s} {'F.linear us':>12s} {'addmm us':>12s}")
    for m, k, n in SHAPES:
        x = torch.randn(m, k, device="npu")
        w = torch.randn(n, k, device="npu")
        b = torch.randn(n, device="npu")
        fns = {
            "F.linear": lambda: F.linear(x, w, b),
            "addmm": lambda: torch.addmm(b, x, w.t()),
        }
        torch.testing.assert_close(fns["F.linear"](), fns["addmm"](), rtol=1e-3, atol=1e-3)
        repeat(fns, rounds=3)
        best = {name: min(t) * 1e6 for name, t in repeat(fns).items()}
        for name, us in best.items():
            score[name].append(us)
        print(f"{f'{m},{k},{n}':>16s} {best['F.linear']:12.2f} {best['addmm']:12.2f}")

    total = {name: sum(us) for name, us in score.items()}
    fast, slow = sorted(total, key=total.get)
    gain = 100 * (total[slow] / total[fast] - 1)
    print(f"{fast} beats {slow} by {gain:.1f} % over these shapes (launch included) -> using {fast} in the model.")


if __name__ == "__main__":
    main()
