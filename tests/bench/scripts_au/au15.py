"""Two independent branches: one after the other, or on two streams?"""
import statistics

import torch
import torch.nn.functional as F
import torch_npu

LEFT_SHAPE, RIGHT = (2048, 1024), 512
ROUNDS, WARM = 16, 3

left_stream, right_stream = torch.npu.Stream(), torch.npu.Stream()
torch.manual_seed(4)
left_in = torch.randn(LEFT_SHAPE).half().npu()
right_in = torch.randn(RIGHT, RIGHT).npu()


def left():
    return F.gelu(left_in)


def right():
    return right_in @ right_in


def serial():
    return left(), right()


def forked():
    here = torch.npu.current_stream()
    left_stream.wait_stream(here)
    right_stream.wait_stream(here)
    with torch.npu.stream(left_stream):
        a = left()
    with torch.npu.stream(right_stream):
        b = right()
    here.wait_stream(left_stream)
    here.wait_stream(right_stream)
    return a, b


def sample(fn):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    start.record()
    kept = fn()
    stop.record()
    stop.synchronize()
    del kept
    return start.elapsed_time(stop) * 1e3


def main():
    for _ in range(WARM):
        sample(serial), sample(forked)
    times = {serial: [], forked: []}
    for i in range(ROUNDS):
        for fn in ((serial, forked), (forked, serial))[i % 2]:
            times[fn].append(sample(fn))

    mid = {fn: statistics.median(t) for fn, t in times.items()}
    print(f"Branches: gelu on {LEFT_SHAPE[0]} x {LEFT_SHAPE[1]} float16 and a {RIGHT} x {RIGHT} float32 matmul, inputs in L2.")
    for name, fn in (("On one stream", serial), ("On two streams", forked)):
        t = times[fn]
        print(f"{name} both are through after {mid[fn]:.1f} us (median of {ROUNDS}, {min(t):.1f} to {max(t):.1f}).")
    print("Each sample starts on an idle device, so the host's time to issue the calls is in it, and on two streams that of "
          "the fork and the join too; the events lie on the main stream, which waits for both branches.")
    ratio = mid[serial] / mid[forked]
    if 0.98 < ratio < 1.02:
        print("The medians are within 2 % of each other, which we do not call a difference.")
    elif max(times[forked]) < min(times[serial]):
        print(f"At these sizes the fork pays: every forked sample is below every serial one, {mid[serial] - mid[forked]:.1f} us in the median.")
    elif min(times[forked]) > max(times[serial]):
        print(f"At these sizes the fork does not pay: it costs {mid[forked] - mid[serial]:.1f} us in the median.")
    else:
        print("The samples overlap, so at these sizes we call no winner.")


main()
