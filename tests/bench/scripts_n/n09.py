import time

import numpy as np
import torch
import torch_npu
from torch import nn

CALLS = 12
BLOCKS = 12


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


torch.manual_seed(0)
with torch.inference_mode():
    for tokens, width in ((64, 256), (128, 256), (128, 384)):
        mlp = Mlp(width, 2 * width).npu()
        x = torch.randn(tokens, width, device="npu")

        for _ in range(15):
            mlp(x)
        torch.npu.synchronize()

        samples = []
        for _ in range(BLOCKS):
            start = time.perf_counter()
            for _ in range(CALLS):
                mlp(x)
            torch.npu.synchronize()
            samples.append((time.perf_counter() - start) / CALLS * 1e6)

        q25, q50, q75 = np.percentile(samples, [25, 50, 75])
        print(
            f"MLP {width}->{2 * width}->{width}, {tokens} tokens, fp32: {q50:.1f} us per forward in a stream of calls "
            f"(quartiles {q25:.1f} .. {q75:.1f}, {BLOCKS} blocks of {CALLS}, weights and input warm in L2)"
        )
