"""RMSNorm: the three-liner everybody has in modeling_*.py, against the vendor's kernel."""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch_npu

TOKENS, HIDDEN, EPS, PAIRS = 512, 1024, 1e-6, 30


def spelled_out(x, g):
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPS)
    return g * y.to(x.dtype)


def vendor(x, g):
    return torch_npu.npu_rms_norm(x, g, epsilon=EPS)[0]


def middle(values):
    v = sorted(values)
    h = len(v) // 2
    return v[h] if len(v) % 2 else (v[h - 1] + v[h]) / 2


def wobble(values):
    m = middle(values)
    return middle([abs(v - m) for v in values])


def timed(fn, x, g):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    for _ in range(5):
        fn(x, g)
    b.record()
    return a, b


def main():
    torch.manual_seed(3)
    x = torch.randn(TOKENS, HIDDEN).half().to("npu")
    g = torch.rand(HIDDEN).half().to("npu")
    xd, gd = x.cpu().double(), g.cpu().double()
    truth = gd * xd / (xd.pow(2).mean(-1, keepdim=True) + EPS).sqrt()

    off, got = {}, {spelled_out: [], vendor: []}
    for fn in got:
        off[fn] = (fn(x, g).cpu().double() - truth).abs().max().item()
        for _ in range(8):
            fn(x, g)
    torch.npu.synchronize()

    for turn in range(PAIRS):
        order = (spelled_out, vendor) if turn % 2 == 0 else (vendor, spelled_out)
        for fn in order:
            got[fn].append(timed(fn, x, g))
        torch.npu.synchronize()
    us = {fn: [a.elapsed_time(b) * 1e3 / 5 for a, b in pairs] for fn, pairs in got.items()}

    s, v = middle(us[spelled_out]), middle(us[vendor])
    print(f"So I took {TOKENS} tokens of width {HIDDEN} in half precision, and gave the very same two tensors to both.")
    print(f"Written out by hand (it squares and averages in float32) one norm keeps the stream for {s:.2f} us, give or "
          f"take {wobble(us[spelled_out]):.2f};")
    print(f"npu_rms_norm wants {v:.2f} us, give or take {wobble(us[vendor]):.2f}. That is a factor of {s / v:.2f} at "
          f"this one shape, nothing more.")
    print(f"(Typical = the median over {PAIRS} little batches of five calls, five calls shared out evenly, whatever gaps the launches leave included; give-or-take "
          f"= median distance from it. They took turns in going first. Everything sits warm in L2.)")
    print(f"Neither is sloppy: the largest miss from a float64 calculation is {off[spelled_out]:.4f} for the long form and "
          f"{off[vendor]:.4f} for the short one.")


main()
