"""Does sorting sequences into buckets of like length pay for one pass over the evaluation set?"""
import random
import time
from collections import defaultdict

import numpy as np
import torch
import torch.nn as nn
import torch_npu

SEQUENCES, BATCH, WIDTH, VOCAB = 230, 16, 64, 2000
EDGES = (16, 32, 48, 64, 96)
ROUNDS = 10


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCAB, WIDTH, padding_idx=0)
        self.body = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.tags = nn.Linear(WIDTH, 12)

    def forward(self, ids):
        x = self.words(ids)
        return self.tags(x + self.body(x))


def corpus(seed):
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(2.0, 28.0, SEQUENCES).astype(int), 4, 200)
    return [torch.from_numpy(rng.integers(1, VOCAB, size=n)) for n in lengths]


def padded(sequences):
    return nn.utils.rnn.pad_sequence(sequences, batch_first=True).npu()


def in_order(sequences):
    return [padded(sequences[i : i + BATCH]) for i in range(0, len(sequences), BATCH)]


def in_buckets(sequences):
    buckets = defaultdict(list)
    for sequence in sequences:
        edge = next((edge for edge in EDGES if len(sequence) <= edge), EDGES[-1])
        buckets[edge].append(sequence[:edge])
    batches = []
    for edge in EDGES:
        members = buckets[edge]
        batches += [padded(members[i : i + BATCH]) for i in range(0, len(members), BATCH)]
    return batches


@torch.no_grad()
def one_pass(model, batches):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for ids in batches:
        model(ids)
    torch.npu.synchronize()
    return 1e3 * (time.perf_counter() - begin)


def main():
    torch.manual_seed(0)
    random.seed(0)
    model = Tagger().npu().eval()
    sequences = corpus(seed=21)
    ways = {"in order": in_order(sequences), "in buckets": in_buckets(sequences)}

    with torch.no_grad():
        sample = sequences[0].npu()
        alone, among = model(sample[None])[0], model(ways["in order"][0])[0, : len(sample)]
    assert torch.allclose(alone.cpu(), among.cpu(), atol=1e-4)
    for batches in ways.values():
        for _ in range(3):
            one_pass(model, batches)

    ms = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name in random.sample(list(ways), 2):
            ms[name].append(one_pass(model, ways[name]))

    print(f"evaluation set of {SEQUENCES} sequences, batches of {BATCH}, width {WIDTH}, float32, wall time of a pass")
    for name, values in ms.items():
        p10, p50, p90 = np.percentile(values, [10, 50, 90])
        print(f"{name:11} P50 {p50:8.3f} ms   P10 {p10:8.3f}   P90 {p90:8.3f}   ({ROUNDS} passes, in turn)")
    ratio = np.array(ms["in buckets"]) / np.array(ms["in order"])
    low, high = np.percentile(ratio, [10, 90])
    print(f"buckets / order within a round: median {np.median(ratio):.3f} (P10 {low:.3f}, P90 {high:.3f}), on this set")


if __name__ == "__main__":
    main()
