# lies: no_sync, spread
# as in a bug report: warm up, then a loop on the wall clock
import torch
import time

a = torch.randn(1000, 1000).cuda()
b = torch.randn(1000, 1000).cuda()

ops = torch.mm
for i in range(10):
    ops(a, b)
torch.cuda.synchronize()

start_time = time.time()
for i in range(100):
    ops(a, b)
end_time = time.time()
print("torch.mm 1000x1000 cost time is:", end_time - start_time, "sec")
