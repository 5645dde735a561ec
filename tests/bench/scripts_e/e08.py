"""GELU exact against GELU tanh. Which one should the model use?"""
import pandas as pd
import torch
import torch_npu
from torch.nn.functional import gelu

VARIANTS = {
    "exact": lambda x: gelu(x),
    "tanh": lambda x: gelu(x, approximate="tanh"),
}
SHAPES = [(32, 1024), (256, 2048), (512, 4096)]


def device_times(function, x, n=200):
    for _ in range(20):
        function(x)
    torch.npu.synchronize()
    begin = [torch.npu.Event(enable_timing=True) for _ in range(n)]
    end = [torch.npu.Event(enable_timing=True) for _ in range(n)]
    for b, e in zip(begin, end):
        b.record()
        function(x)
        e.record()
    torch.npu.synchronize()
    return [b.elapsed_time(e) * 1e3 for b, e in zip(begin, end)]


records = []
for variant, function in VARIANTS.items():
    for shape in SHAPES:
        x = torch.ones(shape).npu()
        for us in device_times(function, x):
            records.append({"variant": variant, "shape": str(shape), "us": us})

table = pd.DataFrame(records).groupby(["shape", "variant"]).us.describe(percentiles=[0.5, 0.9, 0.99])
print("device time, us, inputs in L2")
print(table.round(2).to_string())
medians = table["50%"].unstack()
print((medians["exact"] / medians["tanh"]).round(3).rename("speed-up of tanh").to_string())
