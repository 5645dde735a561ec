"""Strassen auf der Cube-Einheit: lohnt sich die Rekursion? (depth 0 = plain torch.mm)"""
import time

import torch
import torch_npu


class Strassen:
    def __init__(self, depth):
        self.depth = depth

    def __call__(self, a, b):
        return self._mul(a, b, self.depth)

    def _mul(self, a, b, depth):
        if depth == 0:
            return torch.mm(a, b)
        h = a.shape[0] // 2
        a11, a12, a21, a22 = a[:h, :h], a[:h, h:], a[h:, :h], a[h:, h:]
        b11, b12, b21, b22 = b[:h, :h], b[:h, h:], b[h:, :h], b[h:, h:]
        go = lambda x, y: self._mul(x, y, depth - 1)
        m1 = go(a11 + a22, b11 + b22)
        m2 = go(a21 + a22, b11)
        m3 = go(a11, b12 - b22)
        m4 = go(a22, b21 - b11)
        m5 = go(a11 + a12, b22)
        m6 = go(a21 - a11, b11 + b12)
        m7 = go(a12 - a22, b21 + b22)
        top = torch.cat((m1 + m4 - m5 + m7, m3 + m5), dim=1)
        low = torch.cat((m2 + m4, m1 - m2 + m3 + m6), dim=1)
        return torch.cat((top, low), dim=0)


class Messung:
    """Ein Lauf = `calls` Produkte hintereinander, eine Wartezeit am Ende."""

    def __init__(self, calls=2, runs=7):
        self.calls, self.runs = calls, runs

    def of(self, fn, *operands):
        for _ in range(2):
            fn(*operands)
        pairs, wall = [], []
        for _ in range(self.runs):
            e0, e1 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            torch.npu.synchronize()
            t = time.perf_counter()
            e0.record()
            for _ in range(self.calls):
                fn(*operands)
            e1.record()
            torch.npu.synchronize()
            wall.append((time.perf_counter() - t) / self.calls)
            pairs.append((e0, e1))
        device = [p.elapsed_time(q) / 1e3 / self.calls for p, q in pairs]
        return self.mitte(device), self.mitte(wall)

    @staticmethod
    def mitte(values):
        return sorted(values)[len(values) // 2]


def main(n=384, clock_ghz=1.85):
    gen = torch.Generator().manual_seed(8)
    a, b = (torch.randn(n, n, generator=gen).half() for _ in range(2))
    exact = a.double() @ b.double()
    a, b = a.to("npu"), b.to("npu")
    cores = torch.npu.get_device_properties(0).cube_core_num
    peak = cores * 2 * 16**3 * clock_ghz * 1e9
    messung = Messung()
    print(f"fp16 {n} x {n} x {n}, Eingaben fest (L2-warm), {messung.runs} Laeufe zu {messung.calls} Produkten, Median je Produkt")
    print(f"Rechnerisches Maximum: {cores} Cube-Kerne x 8192 FLOP/Takt x {clock_ghz} GHz = {peak / 1e12:.0f} TFLOP/s (not measured)")
    for depth in range(3):
        fn = Strassen(depth)
        device, wall = messung.of(fn, a, b)
        rate = 2 * n**3 / device
        err = ((fn(a, b).cpu().double() - exact).norm() / exact.norm()).item()
        print(f"depth {depth}: Device {device * 1e6:8.1f} us, Wanduhr {wall * 1e6:9.1f} us, effektiv {rate / 1e12:6.2f} TFLOP/s "
              f"({rate / peak:.1%} of that peak), rel. Fehler zu float64 {err:.1e}")
    print("'Effektiv' zaehlt immer 2 n^3, the work of the schoolbook product; Strassen selbst rechnet pro Stufe 1/8 weniger im Produkt,")
    print("dafuer kommen Additionen und Kopien als eigene Kernel dazu, and they are inside both clocks.")


if __name__ == "__main__":
    main()
