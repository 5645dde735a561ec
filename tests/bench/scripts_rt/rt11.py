import asyncio
import random
from time import perf_counter

import torch
import torch_npu

WIDTHS = (32, 64, 128, 256, 384)
TOKENS, TURNS = 64, 36


class Lane:
    """A linear layer with bias at one width; its results go into a queue."""

    def __init__(self, width):
        torch.manual_seed(width)
        self.width = width
        self.x, self.w, self.b = (torch.randn(*s, device="npu") for s in ((TOKENS, width), (width, width), (width,)))
        self.us = []

    def call(self):
        return torch.nn.functional.linear(self.x, self.w, self.b)

    async def turn(self, permit, keep=True):
        async with permit:                       # only one lane has the device; no await between the readings
            torch.npu.synchronize()
            begin = perf_counter()
            self.call()
            torch.npu.synchronize()
            end = perf_counter()
        if keep:
            self.us.append((end - begin) * 1e6)
        await asyncio.sleep(0)

    def residual(self):
        d = [t.cpu().double() for t in (self.x, self.w, self.b)]
        r = torch.nn.functional.linear(*d)
        return ((self.call().cpu().double() - r).abs().max() / r.abs().max()).item()


async def main():
    permit = asyncio.Semaphore(1)
    lanes = [Lane(w) for w in WIDTHS]
    residuals = {l.width: l.residual() for l in lanes}
    for _ in range(4):
        await asyncio.gather(*(l.turn(permit, keep=False) for l in lanes))
    for _ in range(TURNS):
        random.shuffle(lanes)                    # gather starts them in this order
        await asyncio.gather(*(l.turn(permit) for l in lanes))
    lanes.sort(key=lambda l: l.width)

    print(f"linear + bias, {TOKENS} tokens, float32, latency of a lone call in microseconds (call until waited for)")
    print("width   typical(median)   best    25%-75%            worst    relative to fp64")
    for l in lanes:
        s = sorted(l.us)
        assert len(s) == TURNS
        print(f"{l.width:5d} {s[TURNS // 2]:12.2f} {s[0]:12.2f}  {s[TURNS // 4]:8.2f}-{s[3 * TURNS // 4]:<8.2f} {s[-1]:9.2f}   {residuals[l.width]:.0e}")
    print(f"({TURNS} turns per width in shuffled order, 4 earlier turns unrecorded, operands resident in cache)")
    print("Five points of one layer. I draw no line through them: between and beyond the widths listed anything may happen.")


random.seed(17)
asyncio.run(main())
