# right
# CUDA source, class with lap times, numpy statistics over a 2-d array of rounds and sizes
import time
import numpy as np
import torch

dev = torch.device("cuda")
sizes = [128, 512]
laps = np.zeros((12, len(sizes)))
xs = [torch.rand(s, s, device=dev) for s in sizes]
for x in xs:
    for _ in range(5):
        torch.cos(x)
torch.cuda.synchronize()
for r in range(12):
    for j, x in enumerate(xs):
        t = time.perf_counter()
        for _ in range(25):
            torch.cos(x)
        torch.cuda.synchronize()
        laps[r, j] = (time.perf_counter() - t) / 25 * 1e6
for j, s in enumerate(sizes):
    print(f"cos {s}x{s}: {np.median(laps[:, j]):.2f} us, std {laps[:, j].std(ddof=1):.3f}, n={len(laps)}")
