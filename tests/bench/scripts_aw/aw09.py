"""x.t().contiguous() against a plain copy from main memory; CSV on stdout.

Sources and destinations form two rings, each larger than the L2 (192 MiB on this chip), and a buffer is touched
once a lap: nothing of it is left in the L2 when its turn comes again. x.t().contiguous() itself would get the same
block from the allocator in each call, hence destination.copy_(x.t()), which is the same kernel.
"""
import csv
import sys
import time

import torch
import torch_npu

MIB = 1 << 20
L2 = 192 * MIB
ROWS, COLS = 2048, 2048
LAPS = 5


def ring():
    size = ROWS * COLS * 4
    count = (L2 + L2 // 3) // size
    row = torch.arange(COLS, device="npu", dtype=torch.float32)
    return [(torch.empty(ROWS, COLS, device="npu").copy_(row + i), torch.empty(COLS, ROWS, device="npu"))
            for i in range(count)]


def transpose(x, destination):
    destination.copy_(x.t())


def copy(x, destination):
    destination.copy_(x)


def lap(function, buffers):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for x, destination in buffers:
        function(x, destination)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / len(buffers)


def main():
    buffers = ring()
    transpose(*buffers[0])
    assert torch.equal(buffers[0][1], buffers[0][0].t().contiguous())
    contenders = [transpose, copy]
    for function in contenders:
        lap(function, buffers)
    laps = {function.__name__: [] for function in contenders}
    for i in range(LAPS):
        for function in contenders[:: 1 if i % 2 else -1]:
            laps[function.__name__].append(lap(function, buffers))

    out = csv.writer(sys.stdout)
    out.writerow(["operation", "rows", "cols", "dtype", "ring_mib", "laps", "us_min", "us_median", "us_max",
                  "read_plus_write_gb_s"])
    moved = 2 * ROWS * COLS * 4
    for name, seconds in laps.items():
        seconds.sort()
        middle = seconds[LAPS // 2]
        out.writerow([name, ROWS, COLS, "float32", len(buffers) * ROWS * COLS * 4 // MIB, LAPS]
                     + [f"{s * 1e6:.1f}" for s in (seconds[0], middle, seconds[-1])]
                     + [f"{moved / middle / 1e9:.0f}"])


if __name__ == "__main__":
    main()
