"""GELU, exact and tanh, through torch.utils.benchmark: median and IQR for each shape."""
from itertools import product

import torch
import torch_npu
from torch.utils import benchmark

SHAPES = [(64, 1024), (256, 1024), (1024, 1024)]
FORMS = ("none", "tanh")
PASSES = 3

torch.manual_seed(11)
rows = {}
tensors = {shape: torch.randn(shape, device="npu") for shape in SHAPES}

for shape, x in tensors.items():
    reference = torch.nn.functional.gelu(x.cpu())
    torch.testing.assert_close(torch.nn.functional.gelu(x).cpu(), reference, rtol=1e-3, atol=1e-3)

for number in range(PASSES):
    forms = FORMS if number % 2 == 0 else FORMS[::-1]
    for shape, form in product(SHAPES, forms):
        timer = benchmark.Timer(
            stmt="F.gelu(x, approximate=form)",
            globals={"F": torch.nn.functional, "x": tensors[shape], "form": form},
            label="gelu",
            sub_label=f"{shape[0]} x {shape[1]} float32",
            description=form,
        )
        timer.timeit(20)
        rows.setdefault((shape, form), []).extend(timer.timeit(40) for _ in range(4))

merged = []
for (shape, form), measurements in rows.items():
    merged.extend(benchmark.Measurement.merge(measurements))

print("Time a call when calls are issued back to back (host or device, whichever is slower); same input each time, so it may sit in L2.")
for m in merged:
    low, high = min(m.times), max(m.times)
    print(f"{m.task_spec.sub_label:>22} {m.task_spec.description:>5}: median {m.median * 1e6:8.2f} us, IQR {m.iqr * 1e6:6.2f} us, "
          f"{low * 1e6:.2f} to {high * 1e6:.2f} us over {len(m.times)} blocks of 40 calls")
