"""GELU-Vergleich: F.gelu gegen die ausgeschriebene erf-Formel (one kernel vs. a chain of five)."""
import argparse
import math
import threading
import time

import torch
import torch.nn.functional as F
import torch_npu

ap = argparse.ArgumentParser()
ap.add_argument("--rows", type=int, default=512)
ap.add_argument("--cols", type=int, default=1024)
ap.add_argument("--windows", type=int, default=11, help="Zeitfenster pro Variante")
ap.add_argument("--calls", type=int, default=6, help="Aufrufe pro Fenster")
ap.add_argument("--threads", type=int, default=2)


def builtin(x):
    return F.gelu(x)


def spelled_out(x):
    return 0.5 * x * (1.0 + torch.erf(x * (1.0 / math.sqrt(2.0))))


def zentralwert(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def window(fn, x, calls):
    """Returns (Device-us, Host-us) per call; beide Uhren umschliessen dieselben Aufrufe."""
    e0, e1 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    t0 = time.perf_counter()
    e0.record()
    for _ in range(calls):
        fn(x)
    e1.record()
    torch.npu.synchronize()
    t1 = time.perf_counter()
    return e0.elapsed_time(e1) * 1e3 / calls, (t1 - t0) * 1e6 / calls


def gemeinsam(fn, x, calls, count):
    """Alle Threads starten an derselben Schranke; elements/s over first start to last finish."""
    gate = threading.Barrier(count)
    starts, stops = [0.0] * count, [0.0] * count

    def lane(i):
        own = torch.npu.Stream()
        with torch.npu.stream(own):
            fn(x)
            own.synchronize()
            gate.wait()
            starts[i] = time.perf_counter()
            for _ in range(calls):
                fn(x)
            own.synchronize()
            stops[i] = time.perf_counter()

    lanes = [threading.Thread(target=lane, args=(i,)) for i in range(count)]
    for t in lanes:
        t.start()
    for t in lanes:
        t.join()
    return count * calls * x.numel() / (max(stops) - min(starts))


def main():
    opt = ap.parse_args()
    cpu = torch.randn(opt.rows, opt.cols, generator=torch.Generator().manual_seed(5))
    x = cpu.to("npu")
    exact = F.gelu(cpu.double())
    print(f"GELU (erf-Form), fp32 [{opt.rows} x {opt.cols}], Eingabe immer dieselbe, also L2-warm")
    print(f"Je {opt.windows} Fenster zu {opt.calls} Aufrufen; Median der Fenster, pro Aufruf:")
    variants = {"F.gelu": builtin, "ausgeschrieben": spelled_out}
    for fn in variants.values():
        for _ in range(3):
            fn(x)
    samples = {name: [] for name in variants}
    for _ in range(opt.windows):
        for name, fn in variants.items():
            samples[name].append(window(fn, x, opt.calls))
    for name, fn in variants.items():
        dev = zentralwert(s[0] for s in samples[name])
        host = zentralwert(s[1] for s in samples[name])
        err = (fn(x).cpu().double() - exact).abs().max().item()
        print(f"  {name:<15} Device (events) {dev:8.1f} us | Wanduhr incl. final sync {host:9.1f} us | max. Abweichung von float64 {err:.1e}")
    print(f"Zusammen, {opt.threads} Threads mit je eigenem Stream (Wanduhr, aggregate):")
    for name, fn in variants.items():
        rates = [gemeinsam(fn, x, opt.calls, opt.threads) for _ in range(5)]
        print(f"  {name:<15} {zentralwert(rates) / 1e6:9.1f} M Elemente/s (Median aus 5 Laeufen)")


if __name__ == "__main__":
    main()
