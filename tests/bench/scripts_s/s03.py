"""HBM bandwidth reached by the residual connection (out-of-place add, fp16)."""
import itertools
import json

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn

ROWS, COLS = 8192, 512
SETS, LAUNCHES, SAMPLES = 4, 8, 40


class Residual(nn.Module):
    def forward(self, x, skip, out):
        return torch.add(x, skip, out=out)


def make_set():
    shape = (ROWS, COLS)
    x = torch.randn(shape, device="npu").half()
    skip = torch.randn(shape, device="npu").half()
    return x, skip, torch.empty_like(x)


@torch.inference_mode()
def run():
    torch.manual_seed(0)
    layer = Residual()
    sets = [make_set() for _ in range(SETS)]
    ring = itertools.cycle(sets)
    for _ in range(20):
        layer(*next(ring))
    torch.npu.synchronize()

    starts = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    ends = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    for s, e in zip(starts, ends):
        s.record()
        for _ in range(LAUNCHES):
            layer(*next(ring))
        e.record()
    torch.npu.synchronize()
    seconds = np.array([s.elapsed_time(e) for s, e in zip(starts, ends)]) * 1e-3 / LAUNCHES
    return seconds


def main():
    seconds = run()
    moved = 3 * ROWS * COLS * 2
    rate = moved / seconds / 1e9
    print(json.dumps({
        "op": "residual add", "shape": [ROWS, COLS], "dtype": "float16",
        "buffers": f"{SETS} sets used in turn",
        "samples": SAMPLES, "launches_per_sample": LAUNCHES,
        "time_us": {"p50": round(float(np.median(seconds)) * 1e6, 2),
                    "p10": round(float(np.percentile(seconds, 10)) * 1e6, 2),
                    "p90": round(float(np.percentile(seconds, 90)) * 1e6, 2)},
        "hbm_bandwidth_GBps": {"p50": round(float(np.median(rate)), 1),
                               "p10": round(float(np.percentile(rate, 10)), 1),
                               "p90": round(float(np.percentile(rate, 90)), 1)},
    }, indent=1))


if __name__ == "__main__":
    main()
