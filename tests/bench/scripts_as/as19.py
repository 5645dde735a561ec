"""Per-step time of a small decoder block: eager launches against an NPUGraph that is replayed."""
import statistics
import time

import torch
from torch import nn
import torch_npu  # noqa: F401

torch.set_num_threads(1)
STEPS, REPEATS = 40, 3


class Block(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.a, self.b = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(self.norm(x))))


def eager_steps(block, x):
    for _ in range(STEPS):
        block(x)


def graphed_steps(block, x):
    g = torch.npu.NPUGraph()
    with torch.npu.graph(g):
        block(x)
    for _ in range(STEPS):
        g.replay()


def per_step(loop, block, x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    loop(block, x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / STEPS * 1e6


@torch.no_grad()
def main():
    torch.manual_seed(6)
    block = Block().npu().eval()
    x = torch.randn(4, 64).npu()
    loops = {"eager": eager_steps, "NPUGraph replay": graphed_steps}
    for loop in loops.values():
        per_step(loop, block, x)

    laps = {name: [] for name in loops}
    for r in range(REPEATS):
        for name in sorted(loops, reverse=bool(r % 2)):
            laps[name].append(per_step(loops[name], block, x))

    print(f"## Decoder block, batch 4, d=64, {torch.npu.get_device_name()}\n")
    print("| mode | median us/step | min | max |")
    print("|---|---:|---:|---:|")
    for name, v in laps.items():
        print(f"| {name} | {statistics.median(v):.1f} | {min(v):.1f} | {max(v):.1f} |")
    print(f"\n{REPEATS} runs of {STEPS} steps each, alternating; host wall clock. "
          "The second row is what one replay of the recorded block takes.")


if __name__ == "__main__":
    main()
