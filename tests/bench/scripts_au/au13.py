"""GELU variants on the compute stream of our runtime."""
import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(256, 1024), (512, 2048), (1024, 2048)]
ITERS = 10

compute = torch.npu.Stream()


def run(kind, x):
    with torch.npu.stream(compute):
        for _ in range(ITERS):
            F.gelu(x, approximate=kind)


def bench(kind, x):
    run(kind, x)
    torch.npu.synchronize()
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    run(kind, x)
    end.record()
    end.synchronize()
    us = begin.elapsed_time(end) * 1e3 / ITERS
    torch.npu.synchronize()
    return us


def main():
    header = ("shape", "erf us", "tanh us", "erf GB/s", "tanh GB/s")
    rows = []
    for shape in SHAPES:
        x = torch.randn(shape).half().npu()
        torch.npu.synchronize()
        moved = 2 * x.numel() * x.element_size()
        erf, tanh = bench("none", x), bench("tanh", x)
        rows.append(("x".join(map(str, shape)), f"{erf:.2f}", f"{tanh:.2f}",
                     f"{moved / erf / 1e3:.0f}", f"{moved / tanh / 1e3:.0f}"))

    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    rule = "+".join("-" * (w + 2) for w in widths)
    print(f"gelu, float16, warm, mean of {ITERS} calls by device events; data stay in L2")
    print("|".join(f" {c:<{w}} " for c, w in zip(header, widths)))
    print(rule)
    for r in rows:
        print("|".join(f" {c:>{w}} " for c, w in zip(r, widths)))


if __name__ == "__main__":
    main()
