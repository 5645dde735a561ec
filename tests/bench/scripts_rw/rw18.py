"""Kopien Host <-> NPU. Run: python, or any runner which collects test_*."""
import statistics
import sys
import time

import torch
import torch_npu

torch.set_num_threads(1)
MIB = 2**20
SIZE = 8 * MIB
COPIES, FENSTER = 6, 11
LINK = 31.5  # GB/s je Richtung, PCIe 4.0 x16, nominal


def _fenster(kopie):
    for _ in range(COPIES):
        kopie()
    torch.npu.synchronize()
    sekunden = []
    for _ in range(FENSTER):
        t0 = time.perf_counter()
        for _ in range(COPIES):
            kopie()
        torch.npu.synchronize()
        sekunden.append((time.perf_counter() - t0) / COPIES)
    return sekunden


def _host(pinned):
    t = torch.arange(SIZE // 4, dtype=torch.int32)
    return t.pin_memory() if pinned else t


def _melden(name, sekunden):
    mitte = statistics.median(sekunden)
    hinweis = "   ueber nominal: so this was not the link alone" if SIZE / mitte / 1e9 > LINK else ""
    print(f"{name:34} {mitte * 1e3:8.3f} ms je Kopie (langsamstes Fenster {max(sekunden) * 1e3:.3f})   {SIZE / mitte / 1e9:6.2f} GB/s gemessen   {LINK:5.1f} GB/s nominal link{hinweis}")


def test_h2d_pageable():
    quelle, ziel = _host(False), torch.zeros(SIZE // 4, dtype=torch.int32, device="npu")
    _melden("H2D pageable, blocking", _fenster(lambda: ziel.copy_(quelle)))
    assert torch.equal(ziel.cpu(), quelle)


def test_h2d_pinned():
    quelle, ziel = _host(True), torch.zeros(SIZE // 4, dtype=torch.int32, device="npu")
    _melden("H2D pinned, non_blocking", _fenster(lambda: ziel.copy_(quelle, non_blocking=True)))
    assert torch.equal(ziel.cpu(), quelle)


def test_d2h_pageable():
    quelle, ziel = _host(False).npu(), torch.zeros(SIZE // 4, dtype=torch.int32)
    _melden("D2H pageable, blocking", _fenster(lambda: ziel.copy_(quelle)))
    assert torch.equal(ziel, quelle.cpu())


def test_d2h_pinned():
    quelle, ziel = _host(False).npu(), torch.zeros(SIZE // 4, dtype=torch.int32).pin_memory()
    _melden("D2H pinned, non_blocking", _fenster(lambda: ziel.copy_(quelle, non_blocking=True)))
    assert torch.equal(ziel, quelle.cpu())


if __name__ == "__main__":
    print(f"{SIZE // MIB} MiB int32 je Kopie; ein Fenster = {COPIES} Kopien + one wait at its end, Host-Uhr; Median aus {FENSTER} Fenstern, eines vorab verworfen.")
    module = sys.modules[__name__]
    for name in [n for n in vars(module) if n.startswith("test_")]:
        getattr(module, name)()
    print("Source and target stay the same buffers, beide Seiten vor der Messung schon beschrieben. Nominal ist das Datenblatt der Leitung, nicht gemessen.")
    print("1 GB = 1e9 Byte. Pageable und pinned unterscheiden sich auch in blocking / non_blocking.")
