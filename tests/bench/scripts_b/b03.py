# lies: inside, no_sync, spread
import torch, time

n = 100
a = time.perf_counter()
z = None
w = torch.rand(200, 200).cuda()
for _ in range(5):
    torch.einsum("ij,jk->ik", w, w)
torch.cuda.synchronize()
a = time.perf_counter()
for i in range(n):
    ar = torch.rand(200, 200)
    ca = ar.cuda()
    z = torch.einsum("ij,jk->ik", ca, w)
torch.cuda.synchronize()
b = time.perf_counter()
print("GPU: einsum 200x200 {:.02e}s".format((b - a) / n))
