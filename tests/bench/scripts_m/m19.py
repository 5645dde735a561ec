import statistics
import timeit

import torch
import torch_npu  # noqa: F401

x = torch.full((256, 256), 0.5, dtype=torch.float16, device="npu")
y = torch.full((256, 256), 2.0, dtype=torch.float16, device="npu")
z = torch.ones(256, 256, dtype=torch.float16, device="npu")
CANDIDATES = {"mul_add": lambda: z + x * y, "addcmul": lambda: torch.addcmul(z, x, y)}
assert torch.equal(CANDIDATES["mul_add"]().cpu(), CANDIDATES["addcmul"]().cpu())


def burst(fn):
    for _ in range(20):
        fn()
    torch.npu.synchronize()


times = {name: [] for name in CANDIDATES}
for fn in CANDIDATES.values():
    burst(fn)
for i in range(20):
    for name in list(CANDIDATES)[:: (-1) ** i]:
        times[name].append(timeit.timeit(lambda f=CANDIDATES[name]: burst(f), number=1) / 20 * 1e6)
med = {name: statistics.median(t) for name, t in times.items()}
for name, t in times.items():
    print(f"{name}: median {med[name]:.2f} us, min {min(t):.2f}, max {max(t):.2f} (L2 warm)")
ratio = med["mul_add"] / med["addcmul"]
print(f"addcmul / mul_add speed: {ratio:.2f}. Whatever the tensor, always write the {min(med, key=med.get)} form.")
