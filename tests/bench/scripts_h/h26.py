"""Compiled and eager, in turn; the time to compile is given on its own."""
import time
import numpy as np
import torch
import torch_npu

def body(x):
    return torch.sigmoid(x) * x + 1

for shape in ((32, 100), (512, 1000)):
    x = torch.ones(shape, device="npu")
    compiled = torch.compile(body, backend="aot_eager", dynamic=False)
    begin = time.perf_counter()
    compiled(x)
    torch.npu.synchronize()
    print(f"{shape}: first call with compilation {time.perf_counter() - begin:.3f} s (once)")
    sides = [body, compiled]
    for f in sides * 3:
        f(x)
    us = {f: [] for f in sides}
    for k in range(40):
        for f in sides if k % 2 else sides[::-1]:
            torch.npu.synchronize()
            t = time.perf_counter()
            for _ in range(20):
                f(x)
            torch.npu.synchronize()
            us[f].append((time.perf_counter() - t) * 5e4)
    r = np.divide(us[body], us[compiled])
    print(f"   eager/compiled {np.median(r):.3f} ({np.percentile(r, 2.5):.3f} .. {np.percentile(r, 97.5):.3f}), "
          f"eager {np.median(us[body]):.2f} us, warm L2")
