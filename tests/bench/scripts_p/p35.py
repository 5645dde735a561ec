"""A compiled transposing copy on lists of growing length."""
import torch
import torch_npu  # noqa: F401


@torch.compile(backend="aot_eager", dynamic=False)
def flip(x):
    return x.t().contiguous() + 1


flip(torch.ones(8, 64).npu())
torch.npu.synchronize()
spans = []
for n in range(10, 17):
    x = torch.ones(n, 64).npu()
    torch.npu.synchronize()
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    flip(x)
    b.record()
    b.synchronize()
    spans.append(a.elapsed_time(b) * 1e3)
t = torch.tensor(spans)
print(f"compiled flip of (n, 64), n = 10..16, float32: median {t.median():.1f} us, std {t.std():.1f}, max {t.max():.1f}")
