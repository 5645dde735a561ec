# lies: order
import torch
import torch_npu
import torch.utils.benchmark as tb

x = torch.randn(768, 768).npu()
fns = {"softmax": lambda: torch.softmax(x, -1), "exp/sum": lambda: x.exp() / x.exp().sum(-1, keepdim=True)}
best, name_of_best = None, ""
for name, fn in fns.items():
    m = tb.Timer("fn()", globals={"fn": fn}).blocked_autorange(min_run_time=0.3)
    print(f"{name} [768, 768]: {m.median * 1e6:.2f} us (IQR {m.iqr * 1e6:.3f})")
    if best is None or m.median < best:
        best, name_of_best = m.median, name
print("winner:", name_of_best)
