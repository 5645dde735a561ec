"""sqrt(x^2 + eps) * x^1.5, operator by operator: what bandwidth do elementwise chains get out of HBM?"""
import time

import torch
import torch.utils.benchmark as benchmark
import torch_npu

NUMBER, REPEATS = 8, 15
SIZES_MB = (1, 2, 4)


def device_clock():
    torch.npu.synchronize()
    return time.perf_counter()


def chain(x):
    return x.pow(2).add(1e-6).sqrt().mul(x.pow(1.5))


# pow: r+w, add: r+w, sqrt: r+w, pow: r+w, mul: 2r+w
PASSES = 11


def measure(mb):
    torch.manual_seed(mb)
    x = torch.rand(mb * (1 << 20) // 4, device="npu") + 0.1
    want = x.cpu().double()
    want = (want.pow(2) + 1e-6).sqrt() * want.pow(1.5)
    torch.testing.assert_close(chain(x).cpu().double(), want, rtol=1e-4, atol=1e-4)

    timer = benchmark.Timer(
        stmt="chain(x)",
        globals={"chain": chain, "x": x},
        timer=device_clock,
        label="pow/sqrt chain",
        sub_label=f"{mb} MiB",
        description="fp32",
    )
    timer.timeit(5)
    runs = [timer.timeit(NUMBER) for _ in range(REPEATS)]
    return benchmark.Measurement.merge(runs)[0]


print("pow/sqrt chain of five operators, fp32, data streamed from HBM; GB/s of traffic to and from memory")
results = []
for mb in SIZES_MB:
    m = measure(mb)
    results.append(m)
    us = torch.tensor(m.times) * 1e6
    gbs = PASSES * mb * (1 << 20) / us / 1e3
    print(f"  {mb:3d} MiB   {us.median():8.2f} us a chain (min {us.min():.2f}, max {us.max():.2f}, {REPEATS} x {NUMBER} runs)   "
          f"HBM {gbs.median():7.1f} GB/s (min {gbs.min():.1f}, max {gbs.max():.1f})")
benchmark.Compare(results).print()
