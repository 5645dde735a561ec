"""LayerNorm forward at three widths: each sample gets a fresh input, so that nothing can be remembered."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
import torch_npu  # noqa: F401


@dataclass
class Case:
    name: str
    shape: tuple
    function: Callable = field(repr=False)
    samples: int = 150


@dataclass
class Row:
    kernel: str
    shape: tuple
    dtype: str
    cache: str
    samples: int
    p50_us: float
    p90_us: float
    p99_us: float


def events(case):
    def once():
        x = torch.rand(case.shape, device="npu")
        return case.function(x, case.shape[-1:])

    for _ in range(20):
        once()
    torch.npu.synchronize()
    spans = []
    for _ in range(case.samples):
        span = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        span[0].record()
        once()
        span[1].record()
        spans.append(span)
    torch.npu.synchronize()
    us = np.array([begin.elapsed_time(end) for begin, end in spans]) * 1e3
    p50, p90, p99 = np.percentile(us, (50, 90, 99)).round(2).tolist()
    return Row(case.name, case.shape, "float32", "input just written, in L2", us.size, p50, p90, p99)


cases = [Case("layer_norm", (512, width), torch.nn.functional.layer_norm) for width in (256, 768, 1536)]
print(json.dumps([asdict(events(case)) for case in cases], indent=2))
