"""Sweep over the batch: layer_norm on hidden states, timed with device events."""
import torch
import torch_npu
import torch.nn.functional as F

HIDDEN = 1024
PER_SAMPLE = 16
SAMPLES = 40

torch.manual_seed(9)
gamma = torch.rand(HIDDEN, device="npu")
beta = torch.rand(HIDDEN, device="npu")


def norm(x):
    return F.layer_norm(x, (HIDDEN,), gamma, beta)


def sample(xs):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    for i in range(PER_SAMPLE):
        norm(xs[i % len(xs)])
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / PER_SAMPLE * 1e6


def sweep():
    for batch in (1, 2, 4, 8, 16):
        xs = [torch.randn(batch, 64, HIDDEN, device="npu") for _ in range(4)]
        want = F.layer_norm(xs[0].cpu(), (HIDDEN,), gamma.cpu(), beta.cpu())
        assert torch.allclose(norm(xs[0]).cpu(), want, rtol=1e-4, atol=1e-4)
        for _ in range(3):
            sample(xs)
        us = sorted(sample(xs) for _ in range(SAMPLES))
        yield batch, us


print(f"layer_norm, float32, batch x 64 x {HIDDEN}; 4 inputs in turn, hot cache")
print(f"{SAMPLES} samples of {PER_SAMPLE} launches in a row, time per launch with the gaps in between")
print(f"{'batch':>5s} {'p10 us':>10s} {'p50 us':>10s} {'p90 us':>10s} {'tokens/s':>12s}")
for batch, us in sweep():
    p10, p50, p90 = us[SAMPLES // 10], us[SAMPLES // 2], us[SAMPLES * 9 // 10]
    print(f"{batch:5d} {p10:10.2f} {p50:10.2f} {p90:10.2f} {batch * 64 / p50 * 1e6:12.0f}")
