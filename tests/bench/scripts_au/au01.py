"""How long does our trainer need for one optimisation step of the small tagger?"""
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

BATCH, SEQ, VOCAB, WIDTH, TAGS = 8, 32, 500, 64, 12
WARM_STEPS, STEPS = 6, 24


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, TAGS)

    def forward(self, ids):
        h = self.emb(ids)
        return self.head(self.norm(h + self.mix(h)))


def batches(count, device):
    gen = torch.Generator().manual_seed(3)
    made = []
    for _ in range(count):
        ids = torch.randint(0, VOCAB, (BATCH, SEQ), generator=gen)
        tags = torch.randint(0, TAGS, (BATCH, SEQ), generator=gen)
        made.append((ids.to(device), tags.to(device)))
    return made


def step(net, opt, crit, ids, tags):
    opt.zero_grad(set_to_none=True)
    loss = crit(net(ids).flatten(0, 1), tags.flatten())
    loss.backward()
    opt.step()
    return loss.item()


def main():
    device = torch.device("npu:0")
    torch.manual_seed(0)
    net = Tagger().to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    data = batches(WARM_STEPS + STEPS, device)

    for ids, tags in data[:WARM_STEPS]:
        step(net, opt, crit, ids, tags)
    torch.npu.synchronize()

    laps, losses = [], []
    for ids, tags in data[WARM_STEPS:]:
        tic = time.perf_counter()
        losses.append(step(net, opt, crit, ids, tags))
        torch.npu.synchronize()
        laps.append((time.perf_counter() - tic) * 1e3)

    low, mid, high = statistics.quantiles(laps, n=4)
    print(f"Tagger, batch {BATCH} x {SEQ} tokens, width {WIDTH}, SGD with momentum, float32.")
    print(f"After {WARM_STEPS} untimed steps, {STEPS} steps were clocked one by one on the host.")
    print(f"The median step lasts {mid:.2f} ms from zero_grad until the loss is a Python number "
          f"and the optimiser is through (quartiles {low:.2f} and {high:.2f} ms, slowest {max(laps):.2f} ms).")
    print("Our trainer logs the loss of every step, so reading it back and waiting for the device are part "
          "of that time; it is the wall time of a step in this trainer, not the device's busy time.")
    print("Batches were on the device beforehand, hence loading them is not in it.")
    print(f"Loss over the clocked steps: first {losses[0]:.3f}, last {losses[-1]:.3f}.")


if __name__ == "__main__":
    main()
