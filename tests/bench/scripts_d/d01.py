# lies: no_sync
# each call's time goes into a deque; the wait stands behind the clock
from collections import deque
import time
import torch
import torch_npu
import numpy as np

history = deque(maxlen=30)
q = torch.rand(8, 64, 32).npu()
for _ in range(10):
    torch.bmm(q, q.transpose(1, 2))
torch.npu.synchronize()
for _ in range(30):
    begin = time.perf_counter()
    for _ in range(10):
        torch.bmm(q, q.transpose(1, 2))
    history.append((time.perf_counter() - begin) / 10)
    torch.npu.synchronize()
us = np.fromiter(history, float) * 1e6
print("bmm [8, 64, 32]: p50=%.2f p99=%.2f us" % (np.percentile(us, 50), np.percentile(us, 99)))
