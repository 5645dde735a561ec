"""torch.compile against eager for a feed-forward block on mixed-length batches."""
import random
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

DIM, BATCH, PASSES = 64, 4, 6
LENGTHS = [48, 64, 80, 96, 112, 128]


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def one_pass(fn, batches):
    order = random.sample(range(len(batches)), len(batches))
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for i in order:
        fn(batches[i])
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e3 / len(batches)


@torch.no_grad()
def main():
    torch.manual_seed(0)
    random.seed(0)
    model = Block(DIM).to("npu").eval()
    compiled = torch.compile(model, dynamic=False)
    batches = [torch.randn(BATCH, n, DIM, device="npu") for n in LENGTHS]

    expected = [model(b) for b in batches]
    for _ in range(5):
        got = compiled(batches[0])
    torch.testing.assert_close(got, expected[0], rtol=1e-3, atol=1e-3)

    times = {"eager": [], "compiled": []}
    for _ in range(PASSES):
        sides = [("eager", model), ("compiled", compiled)]
        random.shuffle(sides)
        for name, fn in sides:
            times[name].append(one_pass(fn, batches))

    print(f"{'mode':10s} {'ms/batch':>10s} {'std':>8s}")
    for name, ms in times.items():
        print(f"{name:10s} {statistics.mean(ms):10.3f} {statistics.stdev(ms):8.3f}")
    ratio = statistics.mean(times["eager"]) / statistics.mean(times["compiled"])
    print(f"Steady-state forward on lengths {LENGTHS}: compiled runs at {ratio:.2f}x the speed of eager.")


if __name__ == "__main__":
    main()
