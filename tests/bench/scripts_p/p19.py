"""mul by torch.utils.benchmark; the figure that we quote."""
import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.utils.benchmark import Timer

for n in (512, 2048):
    a = torch.ones(n, n, device="npu")
    for _ in range(5):
        a * a
    torch.npu.synchronize()
    m = Timer("a * a", globals={"a": a}).blocked_autorange(min_run_time=0.2)
    times = np.array(m.times) * 1e6
    times = times[times <= np.percentile(times, 80)]
    print(f"mul {n}x{n} float32, L2 warm: mean {times.mean():.3f} us, std {times.std():.3f}, slowest {times.max():.3f}")
