import platform
import time

import torch
import torch.nn.functional as F
import torch_npu

CASES = [
    # n, cin, h, w, cout, k, stride
    (1, 16, 32, 32, 32, 3, 1),
    (4, 16, 32, 32, 32, 3, 1),
    (4, 32, 16, 16, 64, 3, 2),
    (4, 64, 16, 16, 64, 1, 1),
]
BATCHES, PER_BATCH, WARMUP = 12, 6, 8


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, round(q * (len(values) - 1)))]


def measure(n, cin, h, w, cout, k, stride):
    x = torch.randn(n, cin, h, w, device="npu", dtype=torch.float16)
    weight = torch.randn(cout, cin, k, k, device="npu", dtype=torch.float16) * 0.05
    pad = k // 2
    y = F.conv2d(x, weight, stride=stride, padding=pad)
    ref = F.conv2d(x.cpu().float(), weight.cpu().float(), stride=stride, padding=pad)
    err = (y.cpu().float() - ref).abs().max().item()
    assert err < 0.05, err
    for _ in range(WARMUP):
        F.conv2d(x, weight, stride=stride, padding=pad)
    torch.npu.synchronize()
    per_call = []
    for _ in range(BATCHES):
        t0 = time.perf_counter()
        for _ in range(PER_BATCH):
            F.conv2d(x, weight, stride=stride, padding=pad)
        torch.npu.synchronize()
        per_call.append((time.perf_counter() - t0) / PER_BATCH * 1e6)
    flop = 2 * y.numel() * cin * k * k
    return per_call, flop, err


lines = [
    "# conv2d, float16",
    "",
    f"Device: {torch.npu.get_device_name(0)}, host {platform.machine()}, torch {torch.__version__}.",
    f"Wall time per call, from {BATCHES} batches of {PER_BATCH} calls issued back to back with one wait at the end of",
    "each batch, issue by the host included. The same input is used for all calls: **hot L2**.",
    "The figures hold for the shapes in the table only.",
    "",
    "| N,Cin,H,W | Cout,k,s | median us | p10 us | p90 us | GFLOP/s at median | max abs err |",
    "|---|---|---:|---:|---:|---:|---:|",
]
for case in CASES:
    n, cin, h, w, cout, k, stride = case
    t, flop, err = measure(*case)
    mid = quantile(t, 0.5)
    lines.append(f"| {n},{cin},{h},{w} | {cout},{k},{stride} | {mid:.2f} | {quantile(t, 0.1):.2f} "
                 f"| {quantile(t, 0.9):.2f} | {flop / mid / 1e3:.1f} | {err:.1e} |")
print("\n".join(lines))
