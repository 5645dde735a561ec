"""Device time of torch.cat along dim 1, by events."""
import torch
import torch_npu

SIZES = [(64, 128), (128, 256), (256, 512)]
PARTS, WARM, N = 4, 6, 25


def make_parts(rows, cols):
    return [torch.randn(rows, cols, device="npu", dtype=torch.float16) for _ in range(PARTS)]


def measure(rows, cols):
    for _ in range(WARM):
        torch.cat(make_parts(rows, cols), dim=1)
    torch.npu.synchronize()
    marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(N)]
    for begin, end in marks:
        begin.record()
        joined = torch.cat(make_parts(rows, cols), dim=1)
        end.record()
    torch.npu.synchronize()
    assert joined.shape == (rows, cols * PARTS)
    return sorted(b.elapsed_time(e) * 1e3 for b, e in marks)


def verify(rows, cols):
    parts = make_parts(rows, cols)
    joined = torch.cat(parts, dim=1).cpu()
    for i, p in enumerate(parts):
        assert torch.equal(joined[:, i * cols:(i + 1) * cols], p.cpu())


for rows, cols in SIZES:
    verify(rows, cols)
    us = measure(rows, cols)
    p10, p50, p90 = us[N // 10], us[N // 2], us[9 * N // 10]
    moved = 2 * PARTS * rows * cols * 2
    print(f"cat of {PARTS} x ({rows}, {cols}) fp16: {p50:.2f} us on the device per concatenation "
          f"(p10 {p10:.2f}, p90 {p90:.2f}, n={N}), {moved / p50 / 1e3:.2f} GB/s; new inputs, just written (L2)")
