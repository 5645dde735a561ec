import labkit
import itertools

import torch

WINDOW_US = 3000.0   # of the modelled host clock
WINDOWS = 6
BURST = 6            # calls between two waits
ROWS = COLUMNS = 4096


def now_us():
    return labkit.device.clock().host_us


# 6 inputs of 64 MiB in turn: when one is used again, 320 MiB have passed through the 192 MB L2
inputs = [torch.randn(ROWS, COLUMNS, device="npu") for _ in range(6)]
totals = [torch.empty((), device="npu") for _ in inputs]
turn = itertools.cycle(zip(inputs, totals))


def burst():
    for x, total in itertools.islice(turn, BURST):
        torch.sum(x, dim=(0, 1), out=total)


for _ in range(3):
    burst()
torch.npu.synchronize()
for x, total in zip(inputs, totals):
    assert abs(total.item() - x.double().sum().item()) < 5.0

windows = []
for _ in range(WINDOWS):
    calls = 0
    torch.npu.synchronize()
    begin = now_us()
    while now_us() - begin < WINDOW_US:
        burst()
        torch.npu.synchronize()
        calls += BURST
    elapsed = now_us() - begin  # read behind the last wait, so all counted calls are done
    windows.append((calls, elapsed))

per_second = sorted(1e6 * calls / elapsed for calls, elapsed in windows)
middle = (per_second[WINDOWS // 2 - 1] + per_second[WINDOWS // 2]) / 2
size = ROWS * COLUMNS * 4
print(f"full sum of a float32 {ROWS} x {COLUMNS} tensor, sustained over {WINDOWS} windows of at least {WINDOW_US / 1e3:.0f} ms (modelled time)")
print(f"calls in the windows: {', '.join(str(calls) for calls, _ in windows)}")
print(f"throughput: median {middle:,.0f} sums/s, lowest window {per_second[0]:,.0f}, highest {per_second[-1]:,.0f}")
print(f"read: {middle * size / 1e9:.0f} GB/s from HBM (cold inputs); the host's wait after every {BURST} calls is part of it,")
print("so the kernel alone is a little faster. Valid for this size.")
