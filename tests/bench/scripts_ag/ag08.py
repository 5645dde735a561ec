import labkit
import statistics
import time

import torch
from torch import nn

FEATURES, LISTS = 16, 8
LENGTHS = [40, 48, 56, 64]          # documents per query, as the loader delivers them
STEPS = 28

torch.manual_seed(0)
scorer = nn.Linear(FEATURES, 1).to("npu")
optimizer = torch.optim.SGD(scorer.parameters(), lr=1e-3)


@torch.compile(dynamic=False)
def rank_gaps(scores):
    ordered, _ = torch.sort(scores, dim=-1, descending=True)
    return torch.sigmoid(ordered[:, :-1] - ordered[:, 1:])


def step(batch):
    optimizer.zero_grad(set_to_none=True)
    loss = rank_gaps(scorer(batch).squeeze(-1)).mean()
    loss.backward()
    optimizer.step()


loader = {n: torch.randn(LISTS, n, FEATURES, device="npu") for n in LENGTHS}

for _ in range(6):
    step(loader[LENGTHS[0]])
torch.npu.synchronize()

samples = []
for i in range(STEPS):
    batch = loader[LENGTHS[i * len(LENGTHS) // STEPS]]
    torch.npu.synchronize()
    begin = time.perf_counter()
    step(batch)
    torch.npu.synchronize()
    samples.append(1e3 * (time.perf_counter() - begin))

mean, spread = statistics.mean(samples), statistics.stdev(samples)
print(f"training step with a compiled sort loss, float32, {LISTS} lists of {LENGTHS} documents, {FEATURES} features")
print(f"wall time of a step, its wait included: mean {mean:.1f} ms, standard deviation {spread:.1f} ms, "
      f"median {statistics.median(samples):.1f} ms, n = {len(samples)} (after 6 warm-up steps)")
print(f"An epoch of 10,000 steps over these lengths will take {10_000 * mean / 1e3:.0f} s.")
