"""STREAM-like scale for the npu: b[i] = s * a[i], from and to device memory."""
import itertools
import time

import torch
import labkit  # noqa: F401

ELEMENTS = 4 << 20            # fp32: 16 MiB a tensor
SETS = 4                      # several sets in turn, so that no call meets the data of the last one
CALLS, REPEATS = 64, 9


class Stream:
    def __init__(self):
        self.pairs = [(torch.full((ELEMENTS,), 1.0 + i, device="npu"), torch.zeros(ELEMENTS, device="npu"))
                      for i in range(SETS)]
        self.turn = itertools.cycle(self.pairs)

    def scale(self):
        a, b = next(self.turn)
        torch.mul(a, 3.0, out=b)

    def seconds(self, calls):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            self.scale()
        torch.npu.synchronize()
        return (time.perf_counter() - begin) / calls

    def verify(self):
        for i, (a, b) in enumerate(self.pairs):
            assert b[:100].cpu().eq(3.0 * (1.0 + i)).all()


def main():
    stream = Stream()
    stream.seconds(CALLS)     # warm
    times = sorted(stream.seconds(CALLS) for _ in range(REPEATS))
    stream.verify()
    moved = 2 * 4 * ELEMENTS  # one read, one write, four bytes each
    median = times[len(times) // 2]
    print(f"scale, {ELEMENTS:,} fp32 ({4 * ELEMENTS >> 20} MiB) a tensor, {SETS} pairs in turn, {REPEATS} repeats of {CALLS} calls")
    print(f"time a call  {1e6 * times[0]:.1f} / {1e6 * median:.1f} / {1e6 * times[-1]:.1f} us (min / median / max)")
    print(f"sustained HBM bandwidth: {moved / median / 1e9:,.0f} GB/s  "
          f"(from {moved / times[-1] / 1e9:,.0f} to {moved / times[0] / 1e9:,.0f})")


if __name__ == "__main__":
    main()
