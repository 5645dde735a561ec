"""Old and new pooling head, in turn. pandas."""
import random
import pandas as pd
import torch
import torch_npu

random.seed(5)
def old(x):
    return torch.softmax(x, -1).sum(0)

def new(x):
    return torch.log_softmax(x, -1).sum(0)

frame = []
for width in (512, 2048):
    sides = {"old": (old, torch.ones(512, width).npu()), "new": (new, torch.ones(256, width).npu())}
    for f, x in sides.values():
        for _ in range(5):
            f(x)
    laps = []
    for _ in range(25):
        for name in random.sample(sorted(sides), 2):
            f, x = sides[name]
            s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            s.record()
            for _ in range(5):
                f(x)
            e.record()
            laps.append((name, s, e))
    torch.npu.synchronize()
    frame += [{"side": n, "width": width, "us": 200 * s.elapsed_time(e)} for n, s, e in laps]
table = pd.DataFrame(frame).groupby(["width", "side"]).us.quantile([0.1, 0.5, 0.9]).unstack()
print(table.round(2))
print("new is faster by", (table.xs("old", level=1)[0.5] / table.xs("new", level=1)[0.5]).round(2).to_dict())
