import labkit
from time import process_time_ns as ticks

import torch

WIDTH = 1024
CALLS = 5
SAMPLES = 13


def samples_us(batch):
    x = torch.randn(batch, WIDTH, device="npu")
    w = torch.randn(WIDTH, WIDTH, device="npu")
    out = torch.empty(batch, WIDTH, device="npu")
    for _ in range(10):
        torch.matmul(x, w, out=out)
    torch.npu.synchronize()
    result = []
    for _ in range(SAMPLES):
        torch.npu.synchronize()
        begin = ticks()
        for _ in range(CALLS):
            torch.matmul(x, w, out=out)
        torch.npu.synchronize()
        result.append((ticks() - begin) / 1e3 / CALLS)
    return sorted(result)


def sweep(batches):
    for batch in batches:
        us = samples_us(batch)
        yield batch, us[SAMPLES // 2], us[0], us[-1]


print(f"matmul (batch x {WIDTH}) @ ({WIDTH} x {WIDTH}), float32, warm L2, elapsed time a call")
print(f"{SAMPLES} samples of {CALLS} calls, one wait behind each sample (included)")
print("batch   median us   min us    max us   TFLOP/s   rows/s")
table = []
for batch, mid, low, high in sweep((32, 64, 128)):
    flop = 2 * batch * WIDTH * WIDTH
    print(f"{batch:5} {mid:11.1f} {low:8.1f} {high:9.1f} {flop / mid / 1e6:9.2f} {1e6 * batch / mid:10,.0f}")
    table.append((batch, 1e6 * batch / mid))
best = max(table, key=lambda row: row[1])
print(f"Of the batches tried, {best[0]} gives the highest throughput: {best[1]:,.0f} rows/s.")
