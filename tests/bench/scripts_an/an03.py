# Distribution of the time of one AdamW step for three sizes of model.
import time
import torch
import torch_npu

STEPS = 120
BINS = 8


def build(layers, width):
    gen = torch.Generator().manual_seed(layers * width)
    params = []
    for _ in range(layers):
        p = torch.nn.Parameter(torch.randn(width, width, generator=gen).to("npu"))
        p.grad = torch.randn(width, width, generator=gen).to("npu")
        params.append(p)
    return params


def sample(params):
    opt = torch.optim.AdamW(params, lr=1e-4, weight_decay=0.01)
    for _ in range(10):
        opt.step()
    torch.npu.synchronize()
    out = []
    for _ in range(STEPS):
        begin = time.perf_counter_ns()
        opt.step()
        end = time.perf_counter_ns()
        out.append((end - begin) / 1000)
        torch.npu.synchronize()
    return out


def histogram(xs):
    lo, hi = min(xs), max(xs)
    step = max((hi - lo) / BINS, 0.01)
    counts = [0] * BINS
    for x in xs:
        counts[min(BINS - 1, int((x - lo) / step))] += 1
    for b, c in enumerate(counts):
        if c:
            print(f"    {lo + b * step:9.2f} us .. {lo + (b + 1) * step:9.2f} us | {'#' * (c * 50 // len(xs) + 1)} {c}")


for layers, width in ((4, 128), (4, 512), (8, 512)):
    xs = sample(build(layers, width))
    s = sorted(xs)
    print(f"{layers} matrices of {width}x{width}, float32, state stays in the L2 cache, {len(xs)} steps:")
    histogram(xs)
    print(f"    the NPU needs {s[len(s) // 2]:.2f} us (median) to update all weights and moments; "
          f"p5 {s[len(s) // 20]:.2f}, p95 {s[len(s) * 19 // 20]:.2f}")
