"""Cost of an optimizer step, by the number of tensors (P50, P90 over blocks of 5; states in the L2)."""
import time
import numpy as np
import torch
import torch_npu

for count, numel in [(4, 4096), (16, 4096), (32, 65536)]:
    params = [torch.nn.Parameter(torch.ones(numel).npu()) for _ in range(count)]
    loss = sum((p * p).sum() for p in params)
    loss.backward()
    optimizer = torch.optim.SGD(params, lr=0.125, momentum=0.5)
    for _ in range(5):
        optimizer.step()
    optimizer.zero_grad()  # set_to_none: from here on step() has no gradient
    torch.npu.synchronize()
    us = []
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(5):
            optimizer.step()
        torch.npu.synchronize()
        us.append((time.perf_counter() - begin) / 5 * 1e6)
    print(count, "tensors of", numel, "P50 %.1f us, P90 %.1f us" % tuple(np.percentile(us, [50, 90])))
