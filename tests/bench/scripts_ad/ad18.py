"""Which share of the HBM bandwidth do our elementwise operators reach?

Bytes that must be read and written by definition of the operator, over the median device time by events; one wait
behind the loop. Everything is float32. Compared with the 1.6 TB/s of HBM in the data sheet of the card.
"""
import json

import numpy as np
import torch
import torch_npu

HBM_GBPS = 1600
SAMPLES = 30


def device_us(function):
    for _ in range(6):
        function()
    torch.npu.synchronize()
    marks = []
    for _ in range(SAMPLES):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        marks.append((begin, end))
    torch.npu.synchronize()
    return np.array([a.elapsed_time(b) * 1e3 for a, b in marks])


def cases(count):
    a, b, out = (torch.ones(count, device="npu") for _ in range(3))
    return {
        "copy": (lambda: out.copy_(a), 2),
        "add": (lambda: torch.add(a, b, out=out), 3),
        "scale": (lambda: torch.mul(a, 2.0, out=out), 2),
    }


def main():
    rows = []
    for count in (1 << 20, 1 << 21, 1 << 22):
        for name, (function, tensors) in cases(count).items():
            us = device_us(function)
            p10, p50, p90 = np.percentile(us, [10, 50, 90])
            rate = 4 * count * tensors / p50 / 1e3
            rows.append({
                "operator": name,
                "elements": count,
                "us_p10_p50_p90": [round(float(v), 2) for v in (p10, p50, p90)],
                "hbm_GBps": round(float(rate), 1),
                "share_of_hbm": f"{rate / HBM_GBPS:.0%}",
            })
    print(json.dumps({"dtype": "float32", "samples": SAMPLES, "hbm_bandwidth": rows}, indent=1))


if __name__ == "__main__":
    main()
