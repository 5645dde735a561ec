"""Two independent GEMM chains: issued on one stream, or on two."""
import argparse
import random
import time

import numpy as np
import torch
import torch_npu


def chain(x, w, depth):
    for _ in range(depth):
        x = torch.mm(x, w)
    return x


def serial(a, b, w, depth, streams):
    return chain(a, w, depth), chain(b, w, depth)


def forked(a, b, w, depth, streams):
    cur = torch.npu.current_stream()
    outs = []
    for s, x in zip(streams, (a, b)):
        s.wait_stream(cur)
        with torch.npu.stream(s):
            outs.append(chain(x, w, depth))
    for s in streams:
        cur.wait_stream(s)
    return tuple(outs)


def sample(fn, *args):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    out = fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e3, out


def interval(num, den, rng, n=2000):
    idx = rng.integers(0, len(num), (n, len(num)))
    r = np.median(num[idx], axis=1) / np.median(den[idx], axis=1)
    return np.percentile(r, [2.5, 97.5])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--depth", type=int, default=4)
    ap.add_argument("--pairs", type=int, default=40)
    args = ap.parse_args()
    rng, streams = np.random.default_rng(0), [torch.npu.Stream(), torch.npu.Stream()]
    print(f"wall time of 2 x {args.depth} fp32 GEMMs incl. launches and stream waits, n={args.pairs} shuffled pairs")
    for n in (128, 256, 384):
        a, b = (torch.randn(n, n, device="npu") for _ in range(2))
        w = torch.randn(n, n, device="npu") / n**0.5
        sides = {"one": serial, "two": forked}
        for fn in list(sides.values()) * 4:
            ref = sample(fn, a, b, w, args.depth, streams)[1]
        ms = {k: [] for k in sides}
        for _ in range(args.pairs):
            for k in random.sample(list(sides), 2):
                t, out = sample(sides[k], a, b, w, args.depth, streams)
                ms[k].append(t)
                assert all(torch.allclose(p, q, rtol=1e-3, atol=1e-3) for p, q in zip(out, ref))
        one, two = np.array(ms["one"]), np.array(ms["two"])
        lo, hi = interval(one, two, rng)
        verdict = "two streams faster" if lo > 1 else "two streams slower" if hi < 1 else "no difference shown"
        print(f"n={n:4d}  one {np.median(one):.3f} ms  two {np.median(two):.3f} ms  "
              f"ratio {np.median(one)/np.median(two):.3f} [{lo:.3f}, {hi:.3f}]  {verdict} at this size")
