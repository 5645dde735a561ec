"""Checks of torch's rms_norm against the composed formula.  python ah08.py runs each test_ function."""
import sys
import time
import traceback

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

EPS = 1e-6
SHAPES = ((32, 512), (128, 768), (256, 1024))


def fused(x, w):
    return F.rms_norm(x, (x.shape[-1],), w, EPS)


def composed(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * w


def case(shape):
    torch.manual_seed(sum(shape))
    return torch.randn(shape).npu(), torch.rand(shape[-1]).npu()


def burst(function, args, calls=25):
    torch.npu.synchronize()  # empty queue before, one wait behind all
    t = time.perf_counter()
    for _ in range(calls):
        function(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / calls * 1e6


def test_same_values():
    for shape in SHAPES:
        args = case(shape)
        torch.testing.assert_close(fused(*args), composed(*args), rtol=1e-4, atol=1e-5)


def test_unit_scale():
    x, w = case(SHAPES[0])
    assert (fused(x, torch.ones_like(w)).cpu().square().mean(-1) - 1).abs().max() < 1e-3


def test_speed():
    rounds = 30
    for shape in SHAPES:
        args = case(shape)
        for f in (fused, composed) * 3:
            burst(f, args)
        pairs = []
        for r in range(rounds):  # ABBA
            if r % 2:
                b = burst(composed, args)
                a = burst(fused, args)
            else:
                a = burst(fused, args)
                b = burst(composed, args)
            pairs.append((a, b))
        a, b = np.array(pairs).T
        lo, mid, hi = np.percentile(b / a, [25, 50, 75])
        print(f"    {shape}, float32, hot: fused {np.median(a):6.1f} us [{a.min():.1f}, {a.max():.1f}], composed {np.median(b):6.1f} us "
              f"[{b.min():.1f}, {b.max():.1f}] a call in bursts of 25; ratio {mid:.2f} (quartiles {lo:.2f}, {hi:.2f}), {rounds} rounds ABBA")
        assert lo <= mid <= hi and a.min() > 0


if __name__ == "__main__":
    failed = 0
    for name, test in [(n, f) for n, f in list(globals().items()) if n.startswith("test_")]:
        print(name)
        try:
            test()
        except AssertionError:
            failed += 1
            traceback.print_exc()
    print("failed:", failed)
    sys.exit(bool(failed))
