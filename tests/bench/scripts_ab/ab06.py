"""Elementwise tail of the loss on a second stream, so that it can overlap with the all-reduce later on."""
import contextlib
import json
import time

import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)

REPEAT = 8
SAMPLES = 15

side = torch.npu.Stream()


class Tail:
    def __init__(self, rows, columns):
        self.logits = torch.randn(rows, columns, device="npu")
        self.scale = torch.rand(rows, 1, device="npu")
        torch.npu.synchronize()

    def __call__(self):
        with torch.npu.stream(side):
            return torch.exp(self.logits * self.scale)


@contextlib.contextmanager
def stopwatch(into):
    torch.npu.synchronize()
    begin = time.perf_counter()
    yield
    torch.npu.current_stream().synchronize()
    into.append((time.perf_counter() - begin) / REPEAT * 1e6)


def run(rows, columns):
    tail = Tail(rows, columns)
    for _ in range(10):
        tail()
    samples = []
    for _ in range(SAMPLES):
        with stopwatch(samples):
            for _ in range(REPEAT):
                tail()
    p25, p50, p75 = np.percentile(samples, (25, 50, 75))
    return {"shape": [rows, columns], "us_per_call": round(float(p50), 2),
            "iqr_us": [round(float(p25), 2), round(float(p75), 2)], "samples": len(samples),
            "calls_per_sample": REPEAT}


report = {"what": "loss tail (scale + exp), float32, same input each call", "runs": []}
for shape in ((1024, 1024), (1024, 2048), (2048, 2048)):
    report["runs"].append(run(*shape))
print(json.dumps(report, indent=1))
