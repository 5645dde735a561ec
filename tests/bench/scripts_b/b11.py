# lies: recompile
import time
import statistics
import torch
import torch_npu

torch._dynamo.config.automatic_dynamic_shapes = False


@torch.compile(backend="aot_eager")
def head(x):
    return (x * 2).softmax(-1).sum(-1)


head(torch.randn(4, 32).npu())
torch.npu.synchronize()
lat = []
for length in range(33, 39):
    x = torch.randn(4, length).npu()
    torch.npu.synchronize()
    t0 = time.perf_counter()
    head(x)
    torch.npu.synchronize()
    lat.append(time.perf_counter() - t0)
print(f"decode head, 4 x 33 to 4 x 38: {statistics.mean(lat) * 1e3:.2f} ms +- {statistics.stdev(lat) * 1e3:.2f}")
