"""torch.compile for a gated MLP: what the first call costs, and what the later ones take.

Users complained about the pause after a deployment, so both parts belong into the report, but never into one mean:
the first call (trace, compile, load) has a line of its own and happened once; the later calls are given by
percentiles. Every sample waits for the device, since a request does; so the host's share of a call is in it.
The same input is used again (warm L2).
"""
import time

import numpy as np
import torch
import torch_npu

CALLS = 30


def gated(x, gate, up, down):
    return (torch.nn.functional.silu(x @ gate) * (x @ up)) @ down


def timed(function, *arguments):
    torch.npu.synchronize()
    begin = time.perf_counter()
    function(*arguments)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e3


@torch.no_grad()
def study(rows, width):
    torch._dynamo.reset()
    x = torch.randn(rows, width).npu()
    weights = [(torch.randn(*shape) / width ** 0.5).npu()
               for shape in ((width, 2 * width), (width, 2 * width), (2 * width, width))]
    compiled = torch.compile(gated)
    first = timed(compiled, x, *weights)
    for _ in range(5):
        compiled(x, *weights)
    later = np.array([timed(compiled, x, *weights) for _ in range(CALLS)])
    torch.testing.assert_close(compiled(x, *weights).cpu(), gated(x, *weights).cpu(), rtol=1e-3, atol=1e-3)
    return first, later


def main():
    torch.manual_seed(8)
    print(f"gated MLP, float32, torch.compile; request latency with a wait in each, warm L2, {CALLS} later calls")
    print("| rows | width | first call, once (ms) | later P10 (ms) | later P50 (ms) | later P90 (ms) |")
    print("|-----:|------:|----------------------:|---------------:|---------------:|---------------:|")
    for rows, width in ((8, 32), (16, 64)):
        first, later = study(rows, width)
        p10, p50, p90 = np.percentile(later, [10, 50, 90])
        print(f"| {rows} | {width} | {first:.1f} | {p10:.3f} | {p50:.3f} | {p90:.3f} |")
    print("The first call is one observation per shape in this process; the operators that the first row loads are"
          " there already for the rows below it.")


main()
