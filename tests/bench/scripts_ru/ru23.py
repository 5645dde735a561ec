"""Transponieren und contiguous() machen: Kopierkosten pro Format."""

import statistics
import time

import torch
import torch_npu

LAEUFE = 30
FORMATE = {"hochkant": (1024, 64), "quer": (64, 1024), "quadrat": (256, 256)}


def einmal(x):
    return x.t().contiguous()


for name, form in FORMATE.items():
    x = torch.randn(form, device="npu")
    if not torch.equal(einmal(x).cpu(), x.cpu().t()):
        raise AssertionError(name)
    for _ in range(5):
        einmal(x)
    marken = [torch.npu.Event(enable_timing=True) for _ in range(LAEUFE + 1)]
    torch.npu.synchronize()
    start = time.perf_counter()
    marken[0].record()
    for marke in marken[1:]:
        einmal(x)
        marke.record()
    torch.npu.synchronize()
    gesamt = time.perf_counter() - start
    us = [a.elapsed_time(b) * 1e3 for a, b in zip(marken, marken[1:])]  # read only now, nothing waits in between
    zehntel = statistics.quantiles(us, n=10, method="inclusive")
    print(
        f"{name} {form[0]}x{form[1]} float32: Median {statistics.median(us):.2f} us von Event zu Event, "
        f"Mittelwert {statistics.fmean(us):.2f}, P10 {zehntel[0]:.2f}, P90 {zehntel[8]:.2f} ({LAEUFE} laps, one copy each)"
    )
    print(f"    host view of the same {LAEUFE} laps: {gesamt * 1e6 / LAEUFE:.2f} us pro Lauf, inkl. Event-Records und ein Warten am Schluss")
print("Eingabe bleibt dieselbe (warm im L2). Ein Lap enthaelt auch die Luecke, wenn der Host mit dem Launch zu spaet kommt.")
