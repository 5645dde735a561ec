"""Do two streams help?  The same chain of small operators is issued twice: both chains on one stream,
or one chain on each of two streams. Wall time from the first launch until the whole device is idle."""
import time

import torch
import torch_npu

WIDTHS = [128, 256, 512]
LENGTH = 8
TRIALS = 15


def chain(x):
    for _ in range(LENGTH // 2):
        x = torch.tanh(x)
        x = x * 0.5
    return x


def one_stream(x, y):
    return chain(x), chain(y)


def make_two_streams():
    left, right = torch.npu.Stream(), torch.npu.Stream()

    def two_streams(x, y):
        with torch.npu.stream(left):
            a = chain(x)
        with torch.npu.stream(right):
            b = chain(y)
        return a, b

    return two_streams


def wall(fn, x, y):
    torch.npu.synchronize()
    begin = time.perf_counter()
    fn(x, y)
    torch.npu.synchronize()  # waits for every stream of the device
    return 1e6 * (time.perf_counter() - begin)


def quartiles(values):
    values = sorted(values)
    n = len(values)
    return values[n // 4], values[n // 2], values[3 * n // 4]


def main():
    two_streams = make_two_streams()
    print(f"{torch.npu.get_device_name(0)}: 2 chains of {LENGTH} operators, {TRIALS} trials, interleaved, us (Q1 / median / Q3)")
    print(f"{'tensor':>14} | {'one stream':>26} | {'two streams':>26} | verdict")
    for width in WIDTHS:
        x, y = torch.randn(width, width).npu(), torch.randn(width, width).npu()
        for ref, got in zip(one_stream(x, y), two_streams(x, y)):
            torch.npu.synchronize()
            assert torch.equal(ref.cpu(), got.cpu())
        for fn in (one_stream, two_streams):
            wall(fn, x, y)
        single, double = [], []
        for trial in range(TRIALS):
            if trial % 2:
                double.append(wall(two_streams, x, y))
                single.append(wall(one_stream, x, y))
            else:
                single.append(wall(one_stream, x, y))
                double.append(wall(two_streams, x, y))
        s, d = quartiles(single), quartiles(double)
        verdict = "two streams faster" if d[2] < s[0] else "one stream faster" if s[2] < d[0] else "no difference seen"
        cells = [" / ".join(f"{v:.1f}" for v in q) for q in (s, d)]
        print(f"{width:>6} x {width:<5} | {cells[0]:>26} | {cells[1]:>26} | {verdict}")


if __name__ == "__main__":
    main()
