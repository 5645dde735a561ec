"""Row softmax, fp16, small batches as in a router."""
import time

import torch
import torch_npu

SHAPES = [(32, 64), (32, 256), (64, 512)]
SAMPLES = 8
INNER = 20


def bench(shape):
    x = torch.randn(*shape).half().npu()
    torch.npu.synchronize()
    seen = []
    for _ in range(SAMPLES):
        t = time.perf_counter_ns()
        for _ in range(INNER):
            torch.softmax(x, dim=-1)
        torch.npu.synchronize()
        seen.append((time.perf_counter_ns() - t) / INNER / 1e3)
    return seen


def fmt(row, widths):
    return "  ".join(str(c).rjust(w) for c, w in zip(row, widths))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(13)
    head = ("rows", "cols", "samples", "calls/sample", "steady us/call")
    widths = [max(6, len(h)) for h in head]
    print(fmt(head, widths))
    print(fmt(["-" * w for w in widths], widths))
    for shape in SHAPES:
        us = bench(shape)
        mean = sum(us) / len(us)
        print(fmt((*shape, SAMPLES, INNER, f"{mean:.1f}"), widths))
    print("\nsteady us/call: what a call costs in a router that has been running for a while (mean over all samples)")


if __name__ == "__main__":
    main()
