"""Training of a top-k router: how many steps a second the queue of launches sustains."""
import time

import torch
import torch.nn as nn
import torch_npu  # noqa: F401

STEPS = 6  # in a block
BLOCKS = 30


class Router(nn.Module):
    def __init__(self, hidden, experts, k):
        super().__init__()
        self.gate = nn.Linear(hidden, experts, bias=False)
        self.k = k

    def forward(self, x):
        scores = self.gate(x)
        top, chosen = torch.topk(scores, self.k, dim=-1)
        return torch.softmax(top, dim=-1), chosen


def build(tokens, hidden, experts, k):
    model = Router(hidden, experts, k).to("npu")
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = [torch.randn(tokens, hidden, device="npu") for _ in range(4)]

    def step(i):
        optimiser.zero_grad(set_to_none=True)
        weights, _ = model(batches[i % 4])
        loss = (weights * weights).sum(-1).mean()
        loss.backward()
        optimiser.step()
        return loss

    return step


def block(step):
    torch.npu.synchronize()
    start = time.perf_counter()
    for i in range(STEPS):
        step(i)
        torch.npu.current_stream().synchronize()
    return STEPS / (time.perf_counter() - start)


def main():
    torch.manual_seed(1)
    print(f"top-k router, forward + backward + SGD, float32; {BLOCKS} blocks of {STEPS} steps, four batches in turn, L2 hot")
    for tokens, hidden, experts, k in [(512, 256, 64, 2), (1024, 256, 64, 4), (1024, 512, 128, 8)]:
        step = build(tokens, hidden, experts, k)
        for i in range(2 * STEPS):
            loss = step(i)
        assert torch.isfinite(loss).item()
        rates = sorted(block(step) for _ in range(BLOCKS))
        low, mid, high = (rates[round(q * (BLOCKS - 1))] for q in (0.1, 0.5, 0.9))
        print(
            f"  {tokens} tokens x {hidden}, top {k} of {experts}: launched back to back, the router trains at "
            f"{mid:8.1f} steps/s (p10 {low:.1f}, p90 {high:.1f}), {mid * tokens / 1e6:.2f} M tokens/s"
        )


main()
