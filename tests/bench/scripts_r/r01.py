"""Row lookup by index_select: once with the table still on chip, once with an empty L2. Both columns are printed.

The measurements run in a worker thread (as they do in our test rig, where the main thread feeds a display); the main
thread only prints what comes out of the queue. There is one worker, so nothing is measured side by side.
"""
import queue
import threading

import numpy as np
import torch
import torch_npu  # noqa: F401

import labkit

WARM, SAMPLES = 12, 40
SIZES = [(4_000, 512, 1_024), (16_000, 768, 4_096), (20_000, 1_024, 6_000)]  # rows of the table, width, rows looked up
done = queue.Queue()


def sample(call, before):
    """SAMPLES event pairs in microseconds; `before` runs in front of each start mark, outside of it."""
    for _ in range(WARM):
        call()
    torch.npu.synchronize()
    marks = []
    for _ in range(SAMPLES):
        torch.npu._sleep(40_000)  # lets the host get ahead
        before()
        begin, end = (torch.npu.Event(enable_timing=True) for _ in "ab")
        begin.record()
        call()
        end.record()
        marks.append((begin, end))
    torch.npu.synchronize()
    return np.array([1e3 * b.elapsed_time(e) for b, e in marks])


def worker():
    torch.manual_seed(4)
    for rows, width, picks in SIZES:
        table = torch.randn(rows, width).npu()
        index = torch.randint(rows, (picks,)).npu()

        def lookup(table=table, index=index):
            return table.index_select(0, index)

        assert torch.equal(lookup().cpu(), table.cpu()[index.cpu()])
        warm = sample(lookup, lookup)  # one untimed lookup right before: table and index are in the L2
        cold = sample(lookup, labkit.device.clear_l2)
        done.put(((rows, width, picks), warm, cold))
    done.put(None)


def cell(us):
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    return f"{p50:7.2f} ({p10:.2f} .. {p90:.2f})"


if __name__ == "__main__":
    thread = threading.Thread(target=worker, name="bench")
    thread.start()
    print(f"index_select, float32, us of device time, median (P10 .. P90) of {SAMPLES}, after {WARM} calls")
    print(f"{'table':>14} {'picked':>7}  {'L2 warm':>26}  {'L2 empty':>26}")
    while (item := done.get()) is not None:
        (rows, width, picks), warm, cold = item
        print(f"{rows:>8} x {width:<3} {picks:>7}  {cell(warm):>26}  {cell(cold):>26}")
    thread.join()
    print("A model that looks up once per step sees the right column, a loop over one batch the middle one.")
