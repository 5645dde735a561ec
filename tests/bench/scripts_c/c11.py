# lies: no_work
# the generator is never consumed
import time
import statistics
import torch
import torch_npu

xs = [torch.rand(200, 200).npu() for _ in range(20)]


def process(items):
    for x in items:
        yield torch.linalg.vector_norm(x)


list(process(xs))
torch.npu.synchronize()
d = []
for _ in range(15):
    t = time.time()
    result = process(xs)
    torch.npu.synchronize()
    d.append(time.time() - t)
print(f"20 norms of 200x200: median {statistics.median(d) * 1e6:.3f} us, max {max(d) * 1e6:.3f} us")
