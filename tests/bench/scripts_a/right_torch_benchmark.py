# right
import torch, torch_npu
from torch.utils import benchmark

for n in (128, 512):
    x = torch.randn(n, n, device="npu")
    t = benchmark.Timer(
        stmt="f(x)", globals={"f": torch.nn.functional.gelu, "x": x}, label="gelu", sub_label=f"{n}x{n}"
    )
    print(t.blocked_autorange(min_run_time=0.02))
