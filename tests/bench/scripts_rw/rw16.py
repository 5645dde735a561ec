"""cumsum entlang beider Achsen / along both axes."""
import contextlib
import time

import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)
PRO_PROBE = 8      # calls per sample
PROBEN = 40


@contextlib.contextmanager
def probe(ablage):
    torch.npu.synchronize()
    beginn = time.perf_counter()
    yield
    torch.npu.synchronize()
    ablage.append((time.perf_counter() - beginn) / PRO_PROBE)


def messen(x, achse):
    for _ in range(PRO_PROBE):
        torch.cumsum(x, achse)
    zeiten = []
    for _ in range(PROBEN):
        with probe(zeiten):
            for _ in range(PRO_PROBE):
                torch.cumsum(x, achse)
    return np.array(zeiten) * 1e6


torch.manual_seed(12)
print(f"Eine Probe = {PRO_PROBE} Aufrufe hintereinander + 1 synchronize; angegeben ist Probe / {PRO_PROBE}, i.e. the single wait is spread over {PRO_PROBE} calls.")
print(f"{PROBEN} Proben je Zeile, 1 ungemessener Durchlauf vorab. Host-Uhr. Eingabe immer dieselbe (L2-warm).")
for form in ((512, 512), (64, 4096), (4096, 64)):
    x = torch.randn(form)
    genau = {achse: x.double().cumsum(achse) for achse in (0, 1)}
    x_npu = x.npu()
    for achse in (0, 1):
        us = messen(x_npu, achse)
        fehler = (x_npu.cumsum(achse).cpu().double() - genau[achse]).abs().max().item()
        print(f"{form[0]:5d} x {form[1]:<5d} float32, dim={achse}: Median {np.median(us):8.2f} us/Aufruf, "
              f"P90 der Proben {np.percentile(us, 90):8.2f}, {x.numel() / np.median(us):8.1f} Melem/s, "
              f"max. Abweichung zu float64 {fehler:.1e}")
print("Zum Vergleich der Zeilen: gleiche Elementzahl / same number of elements in every row of the table.")
