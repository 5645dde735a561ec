"""topk gegen sort: was kostet eine Zeile?"""
import time
from dataclasses import dataclass, field
from statistics import median, quantiles

import torch
import torch_npu

torch.set_num_threads(1)
ZEILEN, SPALTEN, ANZAHL = 64, 512, 21


@dataclass
class Messung:
    k: int
    weg: str
    ns: list = field(default_factory=list)

    def rufe(self, x):
        if self.weg == "topk":
            return torch.topk(x, self.k, dim=-1, sorted=True).values
        return torch.sort(x, dim=-1, descending=True).values[:, : self.k]

    def probe(self, x, ende):
        t = time.perf_counter_ns()
        self.rufe(x)
        ende.record()
        ende.synchronize()
        self.ns.append(time.perf_counter_ns() - t)

    @property
    def zeile(self):
        return f"{self.k:>4} {self.weg:<5} {median(self.ns) / 1e3:>10.1f} {quantiles(self.ns, n=4)[2] / 1e3:>10.1f} {median(self.ns) / ZEILEN:>12.1f}"


x = torch.randn(ZEILEN, SPALTEN).half().to("npu")
print(f"{ZEILEN} Zeilen x {SPALTEN}, float16, values in descending order; sort() orders the whole row, dann werden k genommen")
print("   k Weg    Median us  3.Quart us  ns je Zeile")
for k in 4, 64:
    paar = [Messung(k, "topk"), Messung(k, "sort")]
    assert torch.equal(*(m.rufe(x) for m in paar)), "beide Wege müssen dieselben Werte liefern"
    for m in paar * 3:
        m.rufe(x)
    torch.npu.synchronize()
    for _ in range(ANZAHL):
        for m in paar:
            m.probe(x, torch.npu.Event())
    for m in paar:
        print(m.zeile)
    print(f"     -> sort / topk, Mediane: {median(paar[1].ns) / median(paar[0].ns):.2f}")
print(f"Je Probe ein Aufruf und ein event.synchronize(), the host's wake-up is included; n = {ANZAHL}, abwechselnd.")
print("'ns je Zeile' is the median call shared over all rows, nicht die Zeit einer einzelnen Zeile.")
