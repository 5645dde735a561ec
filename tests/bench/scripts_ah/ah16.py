"""Two sorts on one stream or on two: does the second stream help?"""
import random

import numpy as np
import torch
import torch_npu

ROWS, COLS, PAIRS, DEPTH = 128, 1024, 20, 2

torch.manual_seed(33)
left, right = torch.randn(ROWS, COLS), torch.randn(ROWS, COLS)
d_left, d_right = left.npu(), right.npu()
main = torch.npu.current_stream()
side = torch.npu.Stream()


def one_stream():
    a = b = None
    for _ in range(DEPTH):
        a = torch.sort(d_left, dim=-1).values
        b = torch.sort(d_right, dim=-1).values
    return a, b


def two_streams():
    a = b = None
    side.wait_stream(main)      # fork: nothing of the side starts before the opening event
    with torch.npu.stream(side):
        for _ in range(DEPTH):
            b = torch.sort(d_right, dim=-1).values
    for _ in range(DEPTH):
        a = torch.sort(d_left, dim=-1).values
    main.wait_stream(side)      # join: the closing event comes behind both
    b.record_stream(main)
    return a, b


def bracket(function):
    opening, closing = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    opening.record(main)
    result = function()
    closing.record(main)
    return opening, closing, result


want = [torch.sort(t, dim=-1).values for t in (left, right)]
for function in (one_stream, two_streams) * 4:
    *_, result = bracket(function)
    torch.npu.synchronize()
    assert all(torch.equal(r.cpu(), w) for r, w in zip(result, want)), function.__name__

order, marks = [one_stream, two_streams], {one_stream: [], two_streams: []}
chance = random.Random(6)
for _ in range(PAIRS):
    chance.shuffle(order)
    for function in order:
        marks[function].append(bracket(function)[:2])
torch.npu.synchronize()

us = {f: np.array([1e3 * a.elapsed_time(b) for a, b in m]) for f, m in marks.items()}
print(f"{DEPTH} sorts each of two {ROWS} x {COLS} float32 matrices (hot L2), all {2 * DEPTH} together, {PAIRS} pairs in drawn order")
for function, t in us.items():
    q1, q2, q3 = np.percentile(t, [25, 50, 75])
    print(f"  {function.__name__:12} median {q2:7.1f} us   quartiles {q1:7.1f} .. {q3:7.1f}   range {t.min():7.1f} .. {t.max():7.1f}")
gain = us[one_stream] / us[two_streams]
q1, q2, q3 = np.percentile(gain, [25, 50, 75])
print(f"  one stream / two streams, pair by pair: {q2:.3f} ({q1:.3f} .. {q3:.3f}), for this size and depth")
