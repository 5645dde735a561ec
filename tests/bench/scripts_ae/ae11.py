"""Read-modify-write rate out of HBM. The cache is kept cold by choice: 7 tensors of 64 MiB in turn."""
import statistics as st

import torch
import labkit  # noqa: F401

N, TENSORS = 16 * 1024 * 1024, 7
L2_MIB = 192


def ring():
    tensors = [torch.ones(N, device="npu") for _ in range(TENSORS)]
    between = (TENSORS - 1) * N * 4 >> 20
    assert between > L2_MIB, "a tensor would still be in the L2 when its turn comes"
    while True:
        yield from tensors


def main():
    turn = ring()
    for _ in range(2 * TENSORS):
        next(turn).mul_(1.0)
    torch.npu.synchronize()

    marks = []
    for _ in range(6 * TENSORS):
        t = next(turn)
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        t.mul_(1.0)
        end.record()
        marks.append((begin, end))
    torch.npu.synchronize()

    ms = sorted(b.elapsed_time(e) for b, e in marks)
    moved = 2 * 4 * N                            # in place: 64 MiB come in, 64 MiB go out in the end
    rate = [moved / (t * 1e-3) / 1e9 for t in ms]  # GB/s, 1e9 bytes
    print(f"x.mul_(1.0), {N:,} fp32 in place, {TENSORS} tensors of {N * 4 >> 20} MiB in turn, {len(ms)} calls, no wait between")
    print(f"time: median {1e3 * st.median(ms):.1f} us, fastest {1e3 * ms[0]:.1f}, slowest {1e3 * ms[-1]:.1f}")
    print(f"rate: median {st.median(rate):,.0f} GB/s, from {rate[-1]:,.0f} to {rate[0]:,.0f}; read and written bytes both counted, "
          f"one call of 128 MiB each")
    print("Cold reads; what is written may lie in the L2 for a while and goes out while later tensors come in, "
          "which in a ring is part of the later calls' time.")


main()
