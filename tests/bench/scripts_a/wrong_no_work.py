# lies: no_work
import asyncio
import time
import statistics
import torch
import torch_npu

x = torch.randn(256, 256).npu()


async def infer():
    y = x @ x
    return y.relu()


async def main():
    for _ in range(5):
        await infer()
    torch.npu.synchronize()
    took = []
    for _ in range(20):
        t0 = time.perf_counter()
        pending = [infer() for _ in range(30)]
        torch.npu.synchronize()
        took.append(time.perf_counter() - t0)
        for p in pending:
            p.close()
    q = statistics.quantiles(took, n=4)
    print(f"30 requests of 256x256: quartiles {[round(1e6 * v, 2) for v in q]} us")


asyncio.run(main())
