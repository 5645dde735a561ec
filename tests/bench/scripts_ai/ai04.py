"""Dropout on a worker stream: a generator hands out one sample after the other."""
import time
from itertools import islice

import torch
import torch.nn.functional as F
import torch_npu


def laps(work, stream, calls):
    """us a call, for ever: blocks of `calls` calls on the stream"""
    while True:
        began = time.perf_counter()
        with torch.npu.stream(stream):
            for _ in range(calls):
                work()
        torch.npu.current_stream().synchronize()
        yield (time.perf_counter() - began) * 1e6 / calls
        torch.npu.synchronize()


def quantile(values, q):
    s = sorted(values)
    at = q * (len(s) - 1)
    low = int(at)
    high = min(low + 1, len(s) - 1)
    return s[low] + (at - low) * (s[high] - s[low])


def study(shape, p, stream, blocks=21, calls=6):
    x = torch.ones(shape).npu()
    stream.wait_stream(torch.npu.current_stream())

    def work():
        return F.dropout(x, p, training=True)

    with torch.npu.stream(stream):
        for _ in range(3 * calls):
            y = work()
    torch.npu.synchronize()
    y = y.cpu()
    assert torch.all((y == 0) | ((y - 1 / (1 - p)).abs() < 1e-5))
    assert abs((y == 0).float().mean().item() - p) < 0.05
    return list(islice(laps(work, stream, calls), blocks))


def main():
    stream = torch.npu.Stream()
    print("F.dropout(p=0.2), training, float32, the same input again (hot L2); 21 blocks of 6 calls")
    for shape in (16, 512), (32, 512), (64, 512):
        us = study(shape, 0.2, stream)
        size = shape[0] * shape[1]
        print(f"  {shape[0]:4} x {shape[1]:<5} {quantile(us, .5):8.2f} us a call (P10 {quantile(us, .1):.2f}, P90 {quantile(us, .9):.2f}, "
              f"max {max(us):.2f}), {size / quantile(us, .5):8.0f} elements/us")


main()
