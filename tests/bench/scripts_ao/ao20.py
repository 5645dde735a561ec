"""Performance tests of softmax, in the manner of pytest; `python ao20.py` runs them all."""
import sys
import time
import traceback

import torch
import torch_npu

SHAPES = [(16, 128), (64, 512), (128, 1024)]
REPORT = []


def timings(fn, n=15, calls=5):
    for _ in range(6):
        fn()
    torch.npu.synchronize()
    out = []
    for _ in range(n):
        t0 = time.perf_counter()
        for _ in range(calls):
            fn()
        torch.npu.synchronize()
        out.append((time.perf_counter() - t0) / calls * 1e6)
    return sorted(out)


def test_values():
    for shape in SHAPES:
        x = torch.randn(shape, device="npu", dtype=torch.float16)
        got = torch.softmax(x, dim=-1).cpu().float()
        torch.testing.assert_close(got, torch.softmax(x.cpu().float(), dim=-1), rtol=1e-2, atol=1e-3)


def test_time_per_call():
    for shape in SHAPES:
        x = torch.randn(shape, device="npu", dtype=torch.float16)
        us = timings(lambda: torch.softmax(x, dim=-1))
        p10, p50, p90 = us[1], us[7], us[13]
        REPORT.append(f"softmax fp16 {shape}: median {p50:.2f} us per call (p10 {p10:.2f}, p90 {p90:.2f}, n={len(us)})")
        assert p50 < 200, f"{shape}: {p50:.1f} us, budget 200 us"


def test_spread_is_reported_and_small():
    x = torch.randn(64, 512, device="npu", dtype=torch.float16)
    us = timings(lambda: torch.softmax(x, dim=-1))
    spread = (us[11] - us[3]) / us[7]
    REPORT.append(f"softmax fp16 (64, 512): interquartile range {100 * spread:.2f} % of the median")
    assert spread < 0.25


if __name__ == "__main__":
    failed = 0
    for name, test in [(k, v) for k, v in list(globals().items()) if k.startswith("test_")]:
        try:
            test()
            print(f"{name} PASSED")
        except AssertionError:
            failed += 1
            print(f"{name} FAILED")
            traceback.print_exc()
    print("Wall time, 5 calls per wait, the same input in all calls (hot in L2), for these shapes:")
    print("\n".join(REPORT))
    if failed:
        sys.exit(1)
