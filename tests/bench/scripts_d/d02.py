# lies: inside
# the result is fetched in every iteration
import time
import statistics
import torch
import torch_npu

img = torch.rand(1, 3, 256, 256)
net = torch.nn.Conv2d(3, 4, 3).npu().eval()
lat = []
with torch.no_grad():
    for i in range(16):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(3):
            out = net(img.npu()).cpu()
        lat.append((time.perf_counter() - t) / 3 * 1e3)
lat = lat[4:]
print(f"Conv2d(3, 4, 3) at 256x256: {statistics.median(lat):.3f} ms (sd {statistics.stdev(lat):.3f})")
