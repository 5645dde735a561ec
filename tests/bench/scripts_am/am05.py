import contextlib
import time

import torch
import torch_npu

dev = torch.device("npu")


@contextlib.contextmanager
def stopwatch(sink):
    """Appends the seconds of the block to `sink`; the device is idle at both ends."""
    torch.npu.synchronize()
    begin = time.perf_counter()
    yield
    torch.npu.synchronize()
    sink.append(time.perf_counter() - begin)


@contextlib.contextmanager
def operands(b, m, k, n, copies=3):
    gen = torch.Generator().manual_seed(b * m + k * n)
    pairs = []
    for _ in range(copies):
        lhs = torch.randn(b, m, k, generator=gen).half().to(dev)
        rhs = torch.randn(b, k, n, generator=gen).half().to(dev)
        pairs.append((lhs, rhs))
    yield pairs
    pairs.clear()
    torch.npu.empty_cache()


def report(label, flops, secs):
    secs = sorted(secs)
    q = lambda p: secs[round(p * (len(secs) - 1))]
    print(f"{label:<22} p10 {q(.1) * 1e6:8.2f} us | p50 {q(.5) * 1e6:8.2f} us | p90 {q(.9) * 1e6:8.2f} us"
          f" | {flops / q(.5) / 1e12:7.3f} TFLOP/s at p50 | n={len(secs)}")


print("torch.bmm float16, time of one call on the wall clock, launch and wait included.")
print("Three pairs of operands are used in turn; they fit in L2 together, so read this as a hot-cache figure.")
for b, m, k, n in [(8, 64, 64, 64), (16, 128, 64, 128), (32, 128, 128, 128), (4, 256, 256, 512)]:
    with operands(b, m, k, n) as pairs:
        lhs, rhs = pairs[0]
        ref = torch.bmm(lhs.cpu().float(), rhs.cpu().float())
        torch.testing.assert_close(torch.bmm(lhs, rhs).cpu().float(), ref, atol=5e-2, rtol=2e-2)

        for _ in range(4):
            for lhs, rhs in pairs:
                torch.bmm(lhs, rhs)

        taken = []
        for turn in range(51):
            lhs, rhs = pairs[turn % len(pairs)]
            with stopwatch(taken):
                torch.bmm(lhs, rhs)
        report(f"{b}x[{m},{k}]@[{k},{n}]", 2 * b * m * k * n, taken)
print("No claim is made for shapes that are not in this list.")
