# lies: dropped
# keeps the best 80 % as a forum post recommends
import time
import torch

m = torch.randn(300, 300, device="cuda")
for _ in range(10):
    m.sigmoid()
torch.cuda.synchronize()
results = []
for r in range(40):
    t0 = time.perf_counter()
    for _ in range(25):
        m.sigmoid()
    torch.cuda.synchronize()
    results.append((time.perf_counter() - t0) / 25)
results.sort()
best = results[: int(len(results) * 0.8)]
mean = sum(best) / len(best)
var = sum((v - mean) ** 2 for v in best) / (len(best) - 1)
print("sigmoid(300, 300) %.2f us, std %.3f us" % (mean * 1e6, var**0.5 * 1e6))
