"""Two AdamW steppers, each in its own thread and stream, against one alone."""

import threading

import numpy as np
import torch
import torch_npu

STEPS, WARM = 12, 3
LAYERS, WIDTH = 3, 128


def make_stepper(seed):
    torch.manual_seed(seed)
    params = [torch.nn.Parameter(torch.randn(WIDTH, WIDTH, device="npu")) for _ in range(LAYERS)]
    for p in params:
        p.grad = torch.randn_like(p)
    optimizer = torch.optim.AdamW(params, lr=1e-3, weight_decay=0.01)
    stream = torch.npu.Stream()
    stream.wait_stream(torch.npu.current_stream())

    def run(gate, marks):
        with torch.npu.stream(stream):
            for _ in range(WARM):
                optimizer.step()
            stream.synchronize()
            gate.wait()
            marks[0].record(stream)
            for mark in marks[1:]:
                optimizer.step()
                mark.record(stream)
            stream.synchronize()

    return run


def together(count):
    """Positions of all marks in ms after one common event; a row per thread."""
    steppers = [make_stepper(10 + i) for i in range(count)]
    marks = [[torch.npu.Event(enable_timing=True) for _ in range(STEPS + 1)] for _ in range(count)]
    gate = threading.Barrier(count)
    zero = torch.npu.Event(enable_timing=True)
    zero.record()
    torch.npu.synchronize()
    threads = [threading.Thread(target=run, args=(gate, row)) for run, row in zip(steppers, marks)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return np.array([[zero.elapsed_time(mark) for mark in row] for row in marks])


alone, pair = together(1), together(2)

print("[setup]")
print(f"optimizer = AdamW, {LAYERS} parameters of {WIDTH}x{WIDTH} float32, gradients fixed")
print(f"steps_timed_per_thread = {STEPS}")
print(f"steps_before_timing = {WARM}")
print("clock = device events of every stream, all read against one common zero event")
print("note = a step runs from mark to mark in its stream, gaps in which the host is late are in it")
for title, at in (("one_thread", alone), ("two_threads", pair)):
    step_ms = np.diff(at, axis=1)
    span = at[:, -1].max() - at[:, 0].min()
    print(f"\n[{title}]")
    for number, row in enumerate(step_ms):
        p50, p90 = np.percentile(row, [50, 90])
        print(f"thread{number}_step_ms_p50 = {p50:.4f}")
        print(f"thread{number}_step_ms_p90 = {p90:.4f}")
    print(f"first_mark_to_last_mark_ms = {span:.4f}")
    print(f"steps_per_second_all_threads = {step_ms.size / span * 1e3:.1f}")
