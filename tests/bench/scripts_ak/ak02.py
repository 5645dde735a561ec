# RMSNorm, tokens per second: the eager module of the model against the fused operator.
import time

import numpy as np
import torch
import torch_npu

dev = torch.device("npu")
EPS = 1e-6
DURATION = 2e-4  # seconds of load for each candidate in each round
ROUNDS = 30
PER_WAIT = 4


class RMSNorm(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)
        return x * scale * self.weight


def tokens_per_second(step, batches):
    torch.npu.synchronize()
    done, start = 0, time.perf_counter()
    while True:
        for i in range(PER_WAIT):
            step(batches[i % len(batches)])
        torch.npu.synchronize()
        done += PER_WAIT * batches[0].shape[0]
        spent = time.perf_counter() - start
        if spent >= DURATION:
            return done / spent


@torch.no_grad()
def compare(tokens, hidden):
    module = RMSNorm(hidden).to(dev)
    activations = [torch.randn(tokens, hidden, device=dev) for _ in range(4)]
    gamma = module.weight.detach().bfloat16()
    packed = [a.bfloat16() for a in activations]

    fused = lambda x: torch_npu.npu_rms_norm(x, gamma, EPS)[0]
    for a, b in zip(activations, packed):
        torch.testing.assert_close(fused(b).float(), module(a), rtol=3e-2, atol=3e-2)

    todo = {"eager": (module, activations), "fused": (fused, packed)}
    for step, batches in todo.values():
        for _ in range(2):
            for b in batches:
                step(b)
    rates = {name: [] for name in todo}
    for r in range(ROUNDS):
        for name in list(todo)[:: 1 if r % 2 == 0 else -1]:
            rates[name].append(tokens_per_second(*todo[name]))
    q = {name: np.percentile(v, [10, 50, 90]) / 1e6 for name, v in rates.items()}
    for name, (lo, mid, hi) in q.items():
        print(f"  {name}: {mid:7.2f} M tokens/s (p10 {lo:.2f}, p90 {hi:.2f})")
    print(f"  on the same activations the fused RMSNorm is {q['fused'][1] / q['eager'][1]:.2f}x as fast")


for tokens, hidden in [(256, 1024), (512, 2048)]:
    print(f"RMSNorm of {tokens} tokens x {hidden}, {ROUNDS} rounds, order alternates, four batches in turn (hot in L2):")
    compare(tokens, hidden)
