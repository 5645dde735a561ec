#!/usr/bin/env python3
"""Softmax over the last axis, as the host sees it.

issue: until the last of the calls has returned, no wait. How long this thread is held up; says nothing of the device.
done:  until the device has finished all of them.
"""
import statistics
import time

import torch
import torch_npu

torch.set_num_threads(1)
SHAPES = [(8, 128), (8, 1024), (64, 1024), (64, 4096)]
CALLS, BLOCKS = 20, 31
FAR = 3.0


def block(x):
    torch.npu.synchronize()
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        torch.softmax(x, dim=-1)
    issued = time.perf_counter_ns()
    torch.npu.synchronize()
    done = time.perf_counter_ns()
    return (issued - start) / CALLS / 1e3, (done - start) / CALLS / 1e3


def far_out(values):
    middle = statistics.median(values)
    return sum(v > FAR * middle for v in values)


def row(shape):
    x = torch.randn(*shape, device="npu")
    for _ in range(3):
        block(x)
    blocks = [block(x) for _ in range(BLOCKS)]
    issued, done = zip(*blocks)
    q1, q2, q3 = statistics.quantiles(done, n=4)
    return (
        "x".join(map(str, shape)),
        f"{statistics.median(issued):.1f}",
        f"{q2:.1f}",
        f"{q1:.1f}..{q3:.1f}",
        str(far_out(done)),
    )


def main():
    head = ("shape", "issue us", "done us", "done, quartiles", f"> {FAR:.0f} medians")
    rows = [head] + [row(shape) for shape in SHAPES]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for number, cells in enumerate(rows):
        print(" | ".join(c.rjust(w) for c, w in zip(cells, widths)))
        if number == 0:
            print("-+-".join("-" * w for w in widths))
    print(f"per call, float32; medians over {BLOCKS} blocks of {CALLS} calls, one wait per block")
    print("'issue' stops before the wait: how long this thread is held up, not how long the device works")
    print("the last column counts the blocks far above the median of 'done'; they are kept in all other columns")


if __name__ == "__main__":
    main()
