# Step time of the small ranking model, as the trainer runs it: the batch comes from
# pinned host memory, and the loss is read back after every step for the progress bar.
import time

import torch
import torch_npu
from torch import nn

DEVICE = torch.device("npu:0")
BATCH = 128
FEATURES = 256
WARMUP_STEPS = 15
STEPS = 100


def build(width):
    torch.manual_seed(7)
    model = nn.Sequential(
        nn.Linear(FEATURES, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 1),
    ).to(DEVICE)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def make_step(model, optimizer, batches):
    criterion = nn.BCEWithLogitsLoss()
    turn = 0

    def step():
        nonlocal turn
        features, clicks = batches[turn % len(batches)]
        turn += 1
        features = features.to(DEVICE, non_blocking=True)
        clicks = clicks.to(DEVICE, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(features), clicks)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def percentile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def main():
    batches = [
        (torch.randn(BATCH, FEATURES).pin_memory(), torch.randint(0, 2, (BATCH, 1)).float().pin_memory())
        for _ in range(8)
    ]
    print(f"{torch.npu.get_device_name(0)}, float32, batch {BATCH}, AdamW, {STEPS} steps after {WARMUP_STEPS} warm ones")
    print("A step: upload of the batch, forward, backward, optimizer, loss.item().")
    print()
    print(f"{'width':>6} | {'p50 ms':>8} | {'p90 ms':>8} | {'max ms':>8} | {'examples/s':>11}")
    print("-" * 54)
    for width in (128, 256, 512):
        step = make_step(*build(width), batches)
        for _ in range(WARMUP_STEPS):
            step()
        torch.npu.synchronize()

        laps = []
        whole = time.perf_counter()
        for _ in range(STEPS):
            begin = time.perf_counter()
            step()
            torch.npu.synchronize()
            laps.append((time.perf_counter() - begin) * 1e3)
        whole = time.perf_counter() - whole

        laps.sort()
        print(
            f"{width:>6} | {percentile(laps, 0.5):>8.3f} | {percentile(laps, 0.9):>8.3f} | "
            f"{laps[-1]:>8.3f} | {STEPS * BATCH / whole:>11.0f}"
        )
    print()
    print("examples/s: of the whole loop, read-back and upload of every step included.")


main()
