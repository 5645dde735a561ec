"""How many softmax launches a second can a few asyncio workers push to the device?"""
import asyncio
import time

import torch
import torch_npu

DEV = torch.device("npu")
WORKERS = 4
PER_WORKER = 12
ROUNDS = 20


async def worker(tensors):
    for i in range(PER_WORKER):
        torch.softmax(tensors[i % len(tensors)], dim=-1)
        torch.npu.synchronize()
        await asyncio.sleep(0)


async def one_round(per_worker_inputs):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    await asyncio.gather(*(worker(t) for t in per_worker_inputs))
    torch.npu.synchronize()
    return WORKERS * PER_WORKER / (time.perf_counter() - t0)


def quantile(values, q):
    values = sorted(values)
    return values[round(q * (len(values) - 1))]


async def main():
    torch.manual_seed(1)
    print(f"torch.softmax float32: {WORKERS} workers x {PER_WORKER} launches, {ROUNDS} rounds")
    for shape in [(16, 256), (64, 1024), (256, 1024)]:
        inputs = [[torch.randn(shape).to(DEV) for _ in range(2)] for _ in range(WORKERS)]
        x = inputs[0][0]
        torch.testing.assert_close(torch.softmax(x, -1).cpu(), torch.softmax(x.cpu(), -1), atol=1e-5, rtol=1e-4)
        for _ in range(2):
            await one_round(inputs)
        rates = [await one_round(inputs) for _ in range(ROUNDS)]
        print(f"  {str(shape):>12}: {quantile(rates, .5) / 1e3:8.2f} k launches/s (p10 {quantile(rates, .1) / 1e3:.2f},"
              f" p90 {quantile(rates, .9) / 1e3:.2f})")
    print("This is the throughput of launches that the queue sustains with the workers feeding it without a pause")
    print("(inputs stay on the device and in cache).")


asyncio.run(main())
