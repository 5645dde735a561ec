"""One training step of a two-matmul block: forward, loss, backward and SGD update, data already on the card."""
import math
import time

import torch
import torch_npu

STEPS, WARMUP = 30, 6


class Block(torch.nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(width, inner) / math.sqrt(width))
        self.down = torch.nn.Parameter(torch.randn(inner, width) / math.sqrt(inner))

    def forward(self, x):
        return torch.matmul(torch.relu(torch.matmul(x, self.up)), self.down)


def train_step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def measure(batch, width, inner):
    torch.manual_seed(0)
    model = Block(width, inner)
    teacher = torch.randn(width, width) / math.sqrt(width)
    data = [torch.randn(batch, width) for _ in range(STEPS + WARMUP)]
    with torch.no_grad():
        expected = torch.nn.functional.mse_loss(model(data[0]), data[0] @ teacher).item()
    model = model.to("npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = [(x.to("npu"), (x @ teacher).to("npu")) for x in data]  # every step sees a batch that is new

    took, losses = [], []
    for x, y in batches:
        torch.npu.synchronize()
        clock = time.perf_counter()
        loss = train_step(model, optimizer, x, y)
        torch.npu.synchronize()
        took.append((time.perf_counter() - clock) * 1e3)
        losses.append(loss)
    losses = [loss.item() for loss in losses]
    assert all(map(math.isfinite, losses)) and math.isclose(losses[0], expected, rel_tol=1e-3)
    return torch.tensor(took[WARMUP:], dtype=torch.float64), losses


print(f"training step in ms, fp32: forward + loss + backward + SGD, until the device is done; no data loading in it.")
print(f"The first {WARMUP} steps warm up and do not count; all of the {STEPS} after them do.")
print("The weights are what the step before has left (warm, where they fit in L2), the batches are new.")
for batch, width, inner in [(32, 256, 512), (128, 512, 1024), (192, 768, 1536)]:
    ms, losses = measure(batch, width, inner)
    p10, p50, p90 = torch.quantile(ms, torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)).tolist()
    flop = 6 * batch * width * inner * 2 - 2 * batch * width * inner  # no gradient of x
    print(f"batch {batch:4d}, {width} -> {inner} -> {width}: median {p50:.4f} ms, p10 {p10:.4f}, p90 {p90:.4f}, "
          f"max {ms.max():.4f}, n={len(ms)}; matmuls {flop / p50 / 1e9:.3f} TFLOP/s of the whole step; "
          f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
