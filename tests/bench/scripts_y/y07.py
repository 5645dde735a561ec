import torch
import torch_npu
import json
import time

import numpy as np


def issue_samples(call, samples, burst):
    """Seconds of the host per launch. The queue is empty before a burst and is drained after it, off the clock."""
    out = np.empty(samples)
    for index in range(samples):
        torch.npu.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(burst):
            call()
        out[index] = (time.perf_counter_ns() - begin) / burst / 1e9
    torch.npu.synchronize()
    return out


def main():
    torch.manual_seed(2)
    shape, burst, samples = (512, 512), 16, 60
    a = torch.randn(shape).npu()
    b = torch.randn(shape).npu()
    out = torch.empty_like(a)
    calls = {
        "torch.add(out=)": lambda: torch.add(a, b, out=out),
        "torch.mul(out=)": lambda: torch.mul(a, b, out=out),
    }
    for call in calls.values():
        for _ in range(50):
            call()
    torch.add(a, b, out=out)
    torch.testing.assert_close(out.cpu(), a.cpu() + b.cpu())

    print("Host time to issue a launch. The host does not wait for the device within a burst, on purpose:")
    print("these figures say how fast Python can hand work over and nothing about how long a kernel runs.")
    for name, call in calls.items():
        us = issue_samples(call, samples, burst) * 1e6
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        print(
            json.dumps(
                {
                    "what": f"host issue time per launch, {name}",
                    "unit": "us",
                    "P10": round(p10, 2),
                    "P50": round(p50, 2),
                    "P90": round(p90, 2),
                    "samples": samples,
                    "launches_per_sample": burst,
                    "shape": list(shape),
                    "dtype": "float32",
                }
            )
        )


main()
