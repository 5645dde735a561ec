"""Latency of a compiled scorer under requests of ragged lengths."""
import torch
import torch_npu
import random
import time

import numpy as np
import torch._dynamo

torch._dynamo.config.recompile_limit = 64
WIDTH, REQUESTS = 128, 18


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.project = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        hidden = torch.nn.functional.silu(self.project(self.norm(tokens)))
        return hidden.mean(dim=0)


torch.manual_seed(13)
random.seed(13)
plain = Scorer().eval().npu()
scorer = torch.compile(plain, backend="eager", dynamic=False)
lengths = random.sample(range(32, 512, 8), REQUESTS)
requests = [torch.randn(length, WIDTH).npu() for length in lengths]
typical = torch.randn(256, WIDTH).npu()

with torch.inference_mode():
    for _ in range(15):
        scorer(typical)
    for request in requests:
        plain(request)
    torch.npu.synchronize()

    latencies, answers = [], []
    for request in requests:
        begin = time.perf_counter()
        answer = scorer(request)
        torch.npu.synchronize()
        latencies.append((time.perf_counter() - begin) * 1e6)
        answers.append(answer)
    for request, answer in zip(requests, answers):
        torch.testing.assert_close(answer.cpu(), plain(request).cpu(), rtol=1e-4, atol=1e-5)

p10, p50, p90 = np.percentile(latencies, [10, 50, 90])
print(f"compiled scorer, {min(lengths)} to {max(lengths)} tokens x {WIDTH}, float32, inputs on the device, one request at a time")
print(f"steady latency, call and wait: P10 {p10:.1f} us, P50 {p50:.1f} us, P90 {p90:.1f} us")
print(f"{len(latencies)} requests of different lengths, after 15 calls to warm up; answers as those of the plain module")
