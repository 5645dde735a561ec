"""Training step of a small embedding classifier with torch.compile, batches of mixed length."""
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

VOCAB, DIM, BATCH = 1000, 64, 8
LENGTHS = [16, 24, 40, 56]


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.out = nn.Linear(DIM, 10)

    def forward(self, tokens):
        return self.out(self.emb(tokens).mean(1))


def batches(lengths):
    for n in lengths:
        yield torch.randint(0, VOCAB, (BATCH, n)).to("npu"), torch.randint(0, 10, (BATCH,)).to("npu")


def main():
    torch.manual_seed(0)
    random.seed(0)
    model = Bag().to("npu")
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    forward = torch.compile(model, dynamic=False)

    def step(tokens, target):
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(forward(tokens), target)
        loss.backward()
        opt.step()
        return loss

    for tokens, target in batches([LENGTHS[0]] * 4):
        step(tokens, target)

    epoch = list(batches(random.sample(LENGTHS, len(LENGTHS)) * 3))     # 12 steps
    us = []
    for tokens, target in epoch:
        torch.npu.synchronize()
        t0 = time.perf_counter()
        step(tokens, target)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) * 1e6)

    s = sorted(us)
    print(f"embedding classifier, batch {BATCH}, lengths {LENGTHS[0]} to {LENGTHS[-1]}, after 4 warm-up steps, hot cache")
    print(f"one warm training step (forward, backward, SGD), issue and wait included: mean {sum(us) / len(us):.1f} us, "
          f"median {s[len(s) // 2]:.1f} us, min {s[0]:.1f} us, max {s[-1]:.1f} us ({len(us)} steps, all kept)")


if __name__ == "__main__":
    main()
