# right
import torch
import torch_npu
import numpy as np
from timing_helper import clocked

CALLS = 64
for shape in [(1, 1), (333, 7), (2048, 1024)]:
    x = torch.rand(shape).npu()
    laps = []
    for lap in range(12):
        with clocked(laps, CALLS):
            for _ in range(CALLS):
                torch.sqrt(x)
    laps = np.array(laps[2:])  # the first two warm up
    print(f"sqrt {shape}: {laps.mean():.2f} +- {laps.std(ddof=1):.2f} us over {len(laps)} laps")
