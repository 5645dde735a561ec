import itertools
import statistics

import torch
import torch_npu

torch.set_num_threads(1)
MATRIX = {
    "impl": {
        "torch.softmax": lambda x: torch.softmax(x, -1),
        "exp/sum": lambda x: (lambda e: e / e.sum(-1, keepdim=True))(torch.exp(x - x.amax(-1, keepdim=True))),
    },
    "dtype": {"f32": torch.float32, "f16": torch.float16},
    "shape": {"256x512": (256, 512), "1024x128": (1024, 128)},
}
CALLS, WINDOWS = 8, 15

print("# one event pair around %d calls, us per call = pair / %d, median and extremes of %d pairs after one warm pair" % (CALLS, CALLS, WINDOWS))
print("# device time with launch gaps; same input for both implementations of a dtype and shape, reused (L2)")
print("# err: largest deviation from a float64 softmax of the SAME (already rounded) input; row_sum_err: largest |sum - 1| in float64")
print("impl\tdtype\tshape\tmedian_us\tmin_us\tmax_us\terr\trow_sum_err")
for (shape_name, shape), (dtype_name, dtype), (name, impl) in itertools.product(*(MATRIX[axis].items() for axis in ("shape", "dtype", "impl"))):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(55)).mul(3).to(dtype)
    want = torch.softmax(x.double(), -1)
    x = x.npu()
    pairs = []
    for _ in range(WINDOWS + 1):
        pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        torch.npu.synchronize()
        pair[0].record()
        for _ in range(CALLS):
            y = impl(x)
        pair[1].record()
        torch.npu.synchronize()
        pairs.append(pair)
    us = [a.elapsed_time(b) * 1e3 / CALLS for a, b in pairs[1:]]
    y = y.cpu().double()
    print(name, dtype_name, shape_name, f"{statistics.median(us):.2f}", f"{min(us):.2f}", f"{max(us):.2f}",
          f"{(y - want).abs().max().item():.1e}", f"{(y.sum(-1) - 1).abs().max().item():.1e}", sep="\t")
