"""Where do small ops spend their time: in the Python/dispatcher call or on the card?

Writes a markdown report next to the system's temp files and echoes it.
"""
import gc
import os
import statistics
import tempfile
import time

import torch
import torch_npu

LAUNCHES = 40
WINDOWS = 20
SMALL = torch.zeros(64, device="npu")
MATRIX = torch.zeros(64, 64, device="npu")


def case_add_inplace():
    SMALL.add_(1)


def case_mul_scalar():
    torch.mul(SMALL, 2.0)


def case_view_only():
    SMALL.view(8, 8)


def case_matmul_64():
    torch.mm(MATRIX, MATRIX)


def case_empty_tensor():
    torch.empty(64, device="npu")


def host_window(fn):
    """Issue only: the queue is empty before, the clock stops while work may still be running."""
    torch.npu.synchronize()
    t0 = time.perf_counter_ns()
    for _ in range(LAUNCHES):
        fn()
    t1 = time.perf_counter_ns()
    torch.npu.synchronize()
    return (t1 - t0) / LAUNCHES / 1e3


def device_window(fn):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    for _ in range(LAUNCHES):
        fn()
    b.record()
    return a, b


def measure(fn):
    for _ in range(3):
        host_window(fn)
    gc.disable()
    try:
        host = [host_window(fn) for _ in range(WINDOWS)]
        pairs = [device_window(fn) for _ in range(WINDOWS)]
    finally:
        gc.enable()
    torch.npu.synchronize()
    stream = [a.elapsed_time(b) * 1e3 / LAUNCHES for a, b in pairs]
    return host, stream


def report():
    yield "# Host dispatch and stream time of small ops\n"
    yield f"{WINDOWS} windows of {LAUNCHES} calls per column, fp32, 64 elements or 64 x 64. Garbage collector off.\n"
    yield "| case | host us/call, median | host us/call, quickest window | stream us/call, median |"
    yield "|---|---:|---:|---:|"
    for name, fn in sorted(globals().items()):
        if name.startswith("case_"):
            host, stream = measure(fn)
            yield (f"| {name[5:]} | {statistics.median(host):.2f} | {min(host):.2f} | {statistics.median(stream):.2f} |")
    yield ""
    yield "*host* is the time until the call is back, without waiting for its result: what the op costs the issuing thread,"
    yield "not how long it runs. *stream* is the distance of two events around the same calls in a second set of windows,"
    yield "so it holds execution and whatever gaps the host left. `view_only` and `empty_tensor` launch nothing;"
    yield "their host figures are bookkeeping alone, and their stream figures the pace of the host between two events, not work."


if __name__ == "__main__":
    path = os.path.join(tempfile.gettempdir(), "small_ops.md")
    with open(path, "w", encoding="utf-8") as out:
        for line in report():
            print(line)
            out.write(line + "\n")
    print(f"\nsaved as {path}")
