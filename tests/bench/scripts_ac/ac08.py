"""Training step of an MLP, batch 32, width 128, float32, Adam: forward, backward, update."""
import time

import pandas as pd
import torch
import torch_npu  # noqa: F401

BATCH, WIDTH = 32, 128
STEPS_PER_SAMPLE, SAMPLES = 4, 30


def make():
    torch.manual_seed(21)
    net = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(),
        torch.nn.Linear(4 * WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, 10)).npu()
    return net, torch.optim.Adam(net.parameters(), lr=1e-3, foreach=False)


class Trainer:
    def __init__(self):
        self.net, self.optimizer = make()
        self.loss = torch.nn.CrossEntropyLoss()
        self.x = torch.randn(BATCH, WIDTH, device="npu")
        self.y = torch.randint(0, 10, (BATCH,), device="npu")

    @torch.no_grad()
    def settle(self, rounds=20):
        self.net.eval()
        for _ in range(rounds):
            self.loss(self.net(self.x), self.y)
        self.net.train()
        torch.npu.synchronize()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.net(self.x), self.y).backward()
        self.optimizer.step()


def main():
    trainer = Trainer()
    trainer.settle()
    records = []
    for index in range(SAMPLES):
        begin = time.perf_counter()
        for _ in range(STEPS_PER_SAMPLE):
            trainer.step()
        torch.npu.synchronize()
        records.append({"sample": index, "ms": (time.perf_counter() - begin) * 1e3 / STEPS_PER_SAMPLE})
    frame = pd.DataFrame(records)
    s = frame["ms"].describe(percentiles=[0.05, 0.5, 0.95])
    print(f"training step, batch {BATCH}, width {WIDTH}, mean of {STEPS_PER_SAMPLE} steps a sample, ms")
    print(f"mean {s['mean']:.3f}  std {s['std']:.3f}  min {s['min']:.3f}  P5 {s['5%']:.3f}  P50 {s['50%']:.3f}  "
          f"P95 {s['95%']:.3f}  max {s['max']:.3f}  n={int(s['count'])}")


if __name__ == "__main__":
    main()
