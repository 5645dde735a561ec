"""softmax + log against log_softmax, fp32. Same input, same result, random order."""
import argparse

import numpy as np
import torch

import labkit  # noqa: F401


def two_ops(x):
    return torch.log(torch.softmax(x, -1))


def one_op(x):
    return torch.log_softmax(x, -1)


def gpu_us(fn, x, calls):
    beg, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    beg.record()
    for _ in range(calls):
        fn(x)
    end.record()
    torch.npu.synchronize()
    return beg.elapsed_time(end) / calls * 1e3


def bootstrap(pairs, rng, n=1000):
    d = np.log(pairs[:, 0] / pairs[:, 1])
    means = rng.choice(d, (n, len(d))).mean(1)
    return np.exp(d.mean()), *np.exp(np.percentile(means, [2.5, 97.5]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", type=int, default=12)
    p.add_argument("--calls", type=int, default=2)
    o = p.parse_args()
    rng = np.random.default_rng(11)
    shapes = [(64, 128), (256, 1000), (1024, 1024), (32, 32000)]
    wins = 0
    for shape in shapes:
        x = torch.randn(*shape, device="npu")
        torch.testing.assert_close(two_ops(x).cpu(), one_op(x).cpu(), rtol=1e-4, atol=1e-4)
        for _ in range(3):
            two_ops(x), one_op(x)
        torch.npu.synchronize()
        pairs = np.empty((o.pairs, 2))
        for i in range(o.pairs):
            for j in rng.permutation(2):
                pairs[i, j] = gpu_us((two_ops, one_op)[j], x, o.calls)
        r, lo, hi = bootstrap(pairs, rng)
        clear = lo > 1.0
        wins += clear
        print(f"{str(shape):14s} two ops {np.median(pairs[:, 0]):8.2f} us  one op {np.median(pairs[:, 1]):8.2f} us  "
              f"ratio {r:.3f}, 95% CI {lo:.3f}..{hi:.3f}  {'one op faster' if clear else 'one op faster not shown'}")
    print(f"log_softmax is faster beyond the noise on {wins} of the {len(shapes)} shapes tried")


main()
