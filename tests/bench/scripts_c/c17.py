# right
# compiled against eager, both warm, in turn; the compile time on its own
import time
import torch
import torch_npu
import numpy as np


def f(x):
    return torch.nn.functional.gelu(x * 2 + 1)


g = torch.compile(f, backend="aot_eager")
x = torch.randn(300, 700).npu()
g(x), f(x)
for _ in range(5):
    g(x), f(x)
torch.npu.synchronize()
t = {"eager": [], "compiled": []}
rng = np.random.default_rng(0)
for _ in range(20):
    for name in rng.permutation(list(t)):
        fn = f if name == "eager" else g
        s = time.perf_counter()
        for _ in range(20):
            fn(x)
        torch.npu.synchronize()
        t[name].append((time.perf_counter() - s) / 20 * 1e6)
for name, v in t.items():
    print(f"{name:9} [300, 700] median {np.median(v):.2f} us  IQR {np.subtract(*np.percentile(v, [75, 25])):.2f}")
print("ratio", np.round(np.median(np.array(t["compiled"]) / np.array(t["eager"])), 3))
