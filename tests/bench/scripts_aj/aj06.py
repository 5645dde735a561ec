# q, k, v: three products with three weights, or one product with the weights side by side?
# Rounds are paired: in each round both are timed, in an order that changes, and the ratio is taken inside the round.
import random
import statistics
import time

import torch
import torch_npu

D = 128
ROUNDS = 40
dev = "npu"
random.seed(11)
torch.manual_seed(11)


def three(x, w):
    return x @ w[0], x @ w[1], x @ w[2]


def one(x, w):
    return x @ w


def clocked(f, x, w):
    torch.npu.synchronize()
    a = time.perf_counter()
    f(x, w)
    torch.npu.synchronize()
    return (time.perf_counter() - a) * 1e6


weights = [torch.randn(D, D, device=dev) / D**0.5 for _ in range(3)]
wide = torch.cat(weights, dim=1).contiguous()

print(f"x @ Wq, x @ Wk, x @ Wv against x @ [Wq Wk Wv]; float32, width {D}; us from issue to completion; hot L2")
for tokens in (32, 128, 256):
    x = torch.randn(tokens, D, device=dev)
    torch.testing.assert_close(torch.cat(three(x, weights), dim=1), one(x, wide), rtol=1e-4, atol=1e-4)
    for _ in range(6):
        three(x, weights)
        one(x, wide)
    t3, t1, ratios = [], [], []
    firsts = [True, False] * (ROUNDS // 2)
    random.shuffle(firsts)
    for three_first in firsts:
        if three_first:
            a = clocked(three, x, weights)
            b = clocked(one, x, wide)
        else:
            b = clocked(one, x, wide)
            a = clocked(three, x, weights)
        t3.append(a)
        t1.append(b)
        ratios.append(a / b)
    lo, mid, hi = statistics.quantiles(ratios, n=4)
    wins = sum(r > 1 for r in ratios)
    print(f"tokens {tokens:4d}: three {statistics.median(t3):7.2f} us, one {statistics.median(t1):7.2f} us; "
          f"ratio per round {mid:.3f} [{lo:.3f}, {hi:.3f}]; one was faster in {wins} of {ROUNDS} rounds")
print("The ratios hold for these token counts and this width; nothing is said of others.")
