"""Row normalisation: library op against mean/var arithmetic, over several widths. JSON lines."""
import json

import torch
import torch.nn.functional as F
import torch_npu

ROWS = 512
EPS = 1e-5


def library(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b, EPS)


def arithmetic(x, w, b):
    mu = x.mean(-1, keepdim=True)
    centred = x - mu
    var = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(var + EPS) * w + b


CASES = {
    (name, width): fn
    for width in (256, 1024, 2048)
    for name, fn in {"layer_norm": library, "mean_var": arithmetic}.items()
}


def operands(width):
    g = torch.Generator().manual_seed(width)
    return tuple(torch.randn(*s, generator=g) for s in ((ROWS, width), (width,), (width,)))


def spans(fn, ops, warm=3, blocks=10, per_block=6):
    """Yields device microseconds per call, one figure per block; events are read after a single drain."""
    for _ in range(warm):
        fn(*ops)
    torch.npu.synchronize()
    edges = []
    for _ in range(blocks):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(per_block):
            fn(*ops)
        b.record()
        edges.append((a, b))
    torch.npu.synchronize()
    for a, b in edges:
        yield a.elapsed_time(b) * 1000 / per_block


def records():
    for (name, width), fn in CASES.items():
        cpu = operands(width)
        npu = tuple(t.to("npu") for t in cpu)
        truth = F.layer_norm(cpu[0].double(), (width,), cpu[1].double(), cpu[2].double(), EPS)
        us = torch.tensor(list(spans(fn, npu)), dtype=torch.float64)
        p50 = us.quantile(0.5).item()
        minimum_traffic = 2 * ROWS * width * 4
        yield {
            "impl": name,
            "shape": [ROWS, width],
            "dtype": "float32",
            "device_us_per_call": {"p50": round(p50, 3), "lowest_block": round(us.min().item(), 3), "highest_block": round(us.max().item(), 3)},
            "blocks": us.numel(),
            "calls_per_block": 6,
            "l2": "warm, same input every call",
            "algorithmic_GB_per_s": round(minimum_traffic / p50 / 1e3, 1),
            "max_abs_err_vs_float64": float(f"{(fn(*npu).cpu().double() - truth).abs().max().item():.2e}"),
        }


if __name__ == "__main__":
    print(json.dumps({"note": "algorithmic_GB_per_s counts x once in and once out; mean_var moves more than that through its temporaries"}))
    for record in records():
        print(json.dumps(record))
