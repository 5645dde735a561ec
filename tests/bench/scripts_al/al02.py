# torch.sort along the last axis. Writes one JSON document to stdout, for the nightly dashboard.
import json
import time

import numpy as np
import torch
import torch_npu

CONFIG = {
    "cases": [
        {"rows": 1, "cols": 65536, "dtype": "float32"},
        {"rows": 64, "cols": 4096, "dtype": "float32"},
        {"rows": 1024, "cols": 512, "dtype": "float32"},
        {"rows": 64, "cols": 4096, "dtype": "float16"},
    ],
    "inputs": 8,
    "warmup": 10,
    "samples": 60,
}

report = {
    "what": "latency of one torch.sort(x, dim=-1) call: launch, device and the wait for it",
    "unit": "us",
    "cache": "warm on purpose: the inputs of a case are used in turn and all of them stay in L2",
    "clock": "time.perf_counter_ns around call + torch.npu.synchronize()",
    "device": torch.npu.get_device_name(0),
    "results": [],
}

for case in CONFIG["cases"]:
    dtype = getattr(torch, case["dtype"])
    gen = torch.Generator().manual_seed(7)
    inputs = [
        torch.randn(case["rows"], case["cols"], generator=gen).to(dtype).to("npu") for _ in range(CONFIG["inputs"])
    ]

    values, order = torch.sort(inputs[0], dim=-1)
    sorted_ok = bool((values.cpu()[:, 1:] >= values.cpu()[:, :-1]).all())
    gathered_ok = torch.equal(inputs[0].cpu().gather(-1, order.cpu()), values.cpu())

    for i in range(CONFIG["warmup"]):
        torch.sort(inputs[i % len(inputs)], dim=-1)
    torch.npu.synchronize()

    ns = []
    for i in range(CONFIG["samples"]):
        x = inputs[i % len(inputs)]
        start = time.perf_counter_ns()
        torch.sort(x, dim=-1)
        torch.npu.synchronize()
        ns.append(time.perf_counter_ns() - start)

    us = np.asarray(ns) / 1e3
    report["results"].append(
        case
        | {
            "correct": sorted_ok and gathered_ok,
            "bytes_of_inputs": sum(x.numel() * x.element_size() for x in inputs),
            "n": int(us.size),
            "min": round(float(us.min()), 2),
            "p25": round(float(np.percentile(us, 25)), 2),
            "p50": round(float(np.percentile(us, 50)), 2),
            "p75": round(float(np.percentile(us, 75)), 2),
            "max": round(float(us.max()), 2),
        }
    )

print(json.dumps(report, indent=2))
