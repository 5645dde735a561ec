"""torch.utils.benchmark prints both columns beside each other."""
import torch
import torch_npu
import torch.utils.benchmark as B

done = []
for n in (128, 1024):
    x = torch.ones(n, n).npu()
    for name, text in (("composed", "(x * x).sum(1).sqrt()"), ("norm", "torch.linalg.vector_norm(x, dim=1)")):
        t = B.Timer(text, globals={"x": x, "torch": torch}, label="row norm, warm L2", sub_label=f"{n}x{n}", description=name)
        t.timeit(10)
        done.append(t.blocked_autorange(min_run_time=0.01))
for m in done:
    print(m)
B.Compare(done).print()
