import labkit
import argparse

import numpy as np
import torch

parser = argparse.ArgumentParser(description="topk, issued to a stream of its own as our sampler does it")
parser.add_argument("--rows", type=int, default=192)
parser.add_argument("--columns", type=int, default=2048)
parser.add_argument("--k", type=int, default=40)
parser.add_argument("--calls", type=int, default=15, help="calls between two events")
parser.add_argument("--repeats", type=int, default=15)
options = parser.parse_args()

torch.manual_seed(6)
logits = [torch.randn(options.rows, options.columns, device="npu") for _ in range(4)]
sampler = torch.npu.Stream()
sampler.wait_stream(torch.npu.current_stream())


def burst():
    with torch.npu.stream(sampler):
        for i in range(options.calls):
            torch.topk(logits[i % len(logits)], options.k, dim=-1)


def measure():
    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    start.record()
    burst()
    end.record()
    torch.npu.synchronize()
    return start.elapsed_time(end) * 1e3 / options.calls


values, _ = torch.topk(logits[0], options.k, dim=-1)
assert torch.equal(values.cpu(), logits[0].cpu().topk(options.k, dim=-1).values)

for _ in range(5):
    burst()
torch.npu.synchronize()

us = np.array([measure() for _ in range(options.repeats)])
p25, p50, p75 = np.percentile(us, [25, 50, 75])
print(f"topk of {options.rows} x {options.columns} float32, k = {options.k}, inputs warm in the L2")
print(f"{options.repeats} repeats of {options.calls} calls, device time by events: median {p50:.2f} us a call, P25 {p25:.2f}, P75 {p75:.2f}")
print(f"The sampler selects {options.rows / p50:.1f} million rows a second.")
