"""torch.compile: what does the compilation cost and what does it bring on one pointwise chain?"""
import statistics
import time

import labkit  # noqa: F401
import torch

SHAPE = (4096, 4096)
BLOCKS = 8
CALLS = 8


def chain(x, y):
    return torch.tanh(x * y + 0.5) * torch.sigmoid(x) + y


def clock(fn, *args, calls=1):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / calls


def main():
    x = torch.randn(SHAPE, device="npu")
    y = torch.randn(SHAPE, device="npu")
    compiled = torch.compile(chain)

    clock(chain, x, y, calls=3)
    first = clock(compiled, x, y)
    print(f"first compiled call (compilation + kernel load + one run): {first:.3f} s")

    torch.testing.assert_close(compiled(x, y), chain(x, y), rtol=1e-4, atol=1e-4)
    clock(compiled, x, y, calls=3)

    eager_ms, comp_ms = [], []
    for i in range(BLOCKS):
        pair = [(chain, eager_ms), (compiled, comp_ms)]
        for fn, sink in (pair if i % 2 == 0 else reversed(pair)):
            sink.append(clock(fn, x, y, calls=CALLS) * 1e3)

    print(f"\nafter warm-up, {SHAPE} fp32, {BLOCKS} alternating blocks of {CALLS} calls, ms per call")
    for name, s in (("eager", eager_ms), ("compiled", comp_ms)):
        print(f"{name:<10} median {statistics.median(s):.4f}  min {min(s):.4f}  max {max(s):.4f}")

    if max(comp_ms) < min(eager_ms):
        gain = (statistics.median(eager_ms) - statistics.median(comp_ms)) / 1e3
        print(f"compiled was faster in every block; the first call is repaid after "
              f"about {first / gain:,.0f} calls of this chain at this shape")
    else:
        print("ranges overlap: no difference shown at this shape")


if __name__ == "__main__":
    main()
