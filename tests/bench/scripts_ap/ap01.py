"""Latency guards for torch.cumsum: fails when a regression makes the scan too slow."""
import statistics

import torch
import torch_npu

DEVICE = "npu"
L2_BYTES = 192 << 20


def buffers(rows, cols):
    """Enough separate inputs that a turn through them is larger than the L2."""
    each = rows * cols * 4
    return [torch.randn(rows, cols, device=DEVICE) for _ in range(L2_BYTES // each + 4)]


def measure(rows, cols, samples=60, warmup=12):
    ring = buffers(rows, cols)
    for i in range(warmup):
        torch.cumsum(ring[i % len(ring)], dim=1)
    torch.npu.synchronize()

    took = []
    for i in range(samples):
        x = ring[(warmup + i) % len(ring)]
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        y = torch.cumsum(x, dim=1)
        end.record()
        torch.npu.synchronize()
        took.append(begin.elapsed_time(end))
    assert torch.allclose(y.cpu(), torch.cumsum(x.cpu(), 1), rtol=1e-3, atol=1e-2)
    return sorted(took)


def check(rows, cols, limit_us):
    took = measure(rows, cols)
    p10, p50, p90 = took[len(took) // 10], statistics.median(took), took[len(took) * 9 // 10]
    print(f"cumsum fp32 {rows}x{cols} along dim 1, input not in L2: "
          f"p50 {p50:.4f} us (p10 {p10:.4f}, p90 {p90:.4f}, {len(took)} launches)")
    assert p90 < limit_us, f"{rows}x{cols}: p90 {p90:.3f} us is over {limit_us} us"


def test_square():
    check(2048, 2048, limit_us=400)


def test_long_rows():
    check(256, 16384, limit_us=400)


def test_many_rows():
    check(8192, 512, limit_us=400)


if __name__ == "__main__":
    tests = [f for name, f in list(globals().items()) if name.startswith("test_")]
    for test in tests:
        test()
        print(f"PASSED {test.__name__}")
    print(f"{len(tests)} passed: one cumsum launch takes the microseconds above on the device")
