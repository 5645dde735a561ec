import labkit
import numpy as np
import torch
import torch.nn.functional as F

ROWS, WIDTH = 1024, 1024
BUDGET_US = 30.0

torch.manual_seed(4)
INPUTS = [torch.randn(ROWS, WIDTH, device="npu") for _ in range(4)]
WEIGHT, BIAS = torch.randn(WIDTH, device="npu"), torch.randn(WIDTH, device="npu")


def norm(i):
    return F.layer_norm(INPUTS[i % len(INPUTS)], (WIDTH,), WEIGHT, BIAS)


def device_times(count, before=lambda: None):
    for i in range(40):
        before()
        norm(i)
    pairs = []
    for i in range(count):
        before()
        start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        norm(i)
        stop.record()
        pairs.append((start, stop))
    torch.npu.synchronize()
    return np.array([start.elapsed_time(stop) * 1000 for start, stop in pairs])


def test_values():
    for i, x in enumerate(INPUTS):
        expected = F.layer_norm(x.cpu().double(), (WIDTH,), WEIGHT.cpu().double(), BIAS.cpu().double())
        np.testing.assert_allclose(norm(i).cpu().numpy(), expected.numpy(), rtol=1e-3, atol=1e-4)
    return "float32 results are those of a float64 reference on the CPU"


def test_steady():
    us = device_times(200)
    halves = np.median(us[:100]), np.median(us[100:])
    assert abs(halves[1] / halves[0] - 1) < 0.05, halves
    return f"median of the first 100 samples {halves[0]:.2f} us, of the next 100 {halves[1]:.2f} us"


def test_warm_budget():
    us = device_times(300)
    p25, p50, p90 = np.percentile(us, [25, 50, 90])
    assert p90 < BUDGET_US, p90
    return f"warm L2: P25 {p25:.2f}, P50 {p50:.2f}, P90 {p90:.2f} us of 300 samples, budget {BUDGET_US:.0f} us"


def test_cold_budget():
    us = device_times(300, before=labkit.clear_l2)
    p25, p50, p90 = np.percentile(us, [25, 50, 90])
    assert p90 < BUDGET_US, p90
    return f"empty L2 before each call: P25 {p25:.2f}, P50 {p50:.2f}, P90 {p90:.2f} us of 300 samples, same budget"


print(f"layer_norm of {ROWS} x {WIDTH} float32, device time by events, modelled")
for test in test_values, test_steady, test_warm_budget, test_cold_budget:
    print(f"PASSED {test.__name__}: {test()}")
