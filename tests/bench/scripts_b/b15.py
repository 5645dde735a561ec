# right
import torch
import torch_npu
import torch.utils.benchmark as benchmark

results = []
for b, n in ((1, 128), (16, 256)):
    x = torch.randn(b, n, n).npu()
    y = torch.randn(b, n, n).npu()
    t = benchmark.Timer(
        stmt="torch.bmm(x, y)",
        globals={"torch": torch, "x": x, "y": y},
        label="bmm",
        sub_label=f"[{b}, {n}, {n}]",
        description="torch",
    )
    results.append(t.blocked_autorange(min_run_time=0.05))
for r in results:
    print(
        r.sub_label if hasattr(r, "sub_label") else r.task_spec.sub_label,
        f"median {r.median * 1e6:.2f} us, IQR {r.iqr * 1e6:.3f} us, {len(r.times)} blocks",
    )
