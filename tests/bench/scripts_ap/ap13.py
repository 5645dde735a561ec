import time
import statistics as stats

import torch
import torch_npu

torch.manual_seed(11)
BATCH, N = 16, 64
PER_STREAM, REPEATS = 10, 40

streams = [torch.npu.Stream() for _ in range(2)]
operands = [(torch.randn(BATCH, N, N, device="npu"), torch.randn(BATCH, N, N, device="npu"))
            for _ in streams]
outputs = [torch.empty(BATCH, N, N, device="npu") for _ in streams]
torch.npu.synchronize()


def issue():
    for _ in range(PER_STREAM):
        for stream, (a, b), out in zip(streams, operands, outputs):
            with torch.npu.stream(stream):
                torch.bmm(a, b, out=out)


def wait():
    for stream in streams:
        stream.synchronize()
    torch.npu.synchronize()


for _ in range(3):
    issue()
wait()

for (a, b), out in zip(operands, outputs):
    torch.testing.assert_close(out.cpu().float(), torch.bmm(a.cpu().float(), b.cpu().float()), rtol=1e-4, atol=1e-3)

seconds = []
for _ in range(REPEATS):
    wait()
    t0 = time.perf_counter()
    issue()
    wait()
    seconds.append(time.perf_counter() - t0)

launches = PER_STREAM * len(streams)
moved = launches * 3 * BATCH * N * N * 4
rates = sorted(moved / s / 1e9 for s in seconds)
print(f"bmm fp32 {BATCH} x {N} x {N} x {N} on {len(streams)} streams: {stats.median(seconds) / launches * 1e6:.2f} us a bmm "
      f"({launches} launches a sample, {REPEATS} samples)")
print(f"sustained HBM bandwidth while both operands are streamed in from memory and the result is written back: "
      f"median {stats.median(rates):.1f} GB/s, p10 {rates[len(rates) // 10]:.1f}, p90 {rates[len(rates) * 9 // 10]:.1f}")
