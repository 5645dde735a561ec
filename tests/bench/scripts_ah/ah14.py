"""silu(gate) * up: run until steady, then take the samples."""
import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

WINDOW, TOLERANCE, LIMIT, SAMPLES = 15, 0.03, 40, 40


def lap(function):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    function()
    b.record()
    return a, b


def laps(function, count):
    marks = [lap(function) for _ in range(count)]
    torch.npu.synchronize()
    return np.array([1e3 * a.elapsed_time(b) for a, b in marks])


def settle(function):
    """Windows of laps until the medians of two in a row agree; all of these are warm-up."""
    last = np.median(laps(function, WINDOW))
    for windows in range(2, LIMIT):
        level = np.median(laps(function, WINDOW))
        if abs(level / last - 1) < TOLERANCE:
            return windows
        last = level
    raise SystemExit("does not become steady")


print("silu(gate) * up, float32, two launches, same operands (hot L2), events around each call")
for tokens, hidden in (32, 1024), (128, 1024), (256, 1536):
    torch.manual_seed(tokens)
    gate, up = torch.randn(tokens, hidden), torch.randn(tokens, hidden)
    d_gate, d_up = gate.npu(), up.npu()

    def block():
        return F.silu(d_gate) * d_up

    assert torch.allclose(block().cpu(), F.silu(gate) * up, atol=1e-5)
    windows = settle(block)
    us = laps(block, SAMPLES)
    print(f"  {tokens:4} x {hidden:<5} steady after {windows * WINDOW} calls; {len(us)} samples: "
          f"P50 {np.percentile(us, 50):6.2f} us, P90 {np.percentile(us, 90):6.2f} us, P99 {np.percentile(us, 99):6.2f} us")
print("Budget for the gate in the decoder: the P99 above, which one call in a hundred exceeds.")
