"""A training step whose loss is a plain sum: forward, backward, SGD; ten steps a block, one wait a block."""
import statistics
import time

import torch
import torch_npu  # noqa: F401

torch.manual_seed(0)
for batch in (16, 128):
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)).npu()
    sgd = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.ones(batch, 256).npu()

    def step():
        sgd.zero_grad(set_to_none=True)
        model(x).sum().backward()
        sgd.step()

    for _ in range(12):
        step()
    torch.npu.synchronize()
    blocks = []
    for _ in range(20):
        t = time.perf_counter()
        for _ in range(10):
            step()
        torch.npu.synchronize()
        blocks.append((time.perf_counter() - t) * 100)
    print(f"training step of a 256-512-64 MLP, batch {batch}, fp32: median {statistics.median(blocks):.3f} ms, "
          f"{min(blocks):.3f} to {max(blocks):.3f} ms over 20 blocks of 10 steps")
