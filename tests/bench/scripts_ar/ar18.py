"""Packing of ragged sequences with torch.cat, timed by events."""
import random

import torch
import torch_npu

DIM = 256


def ragged(pieces, longest, rng):
    """A batch as it arrives from the tokenizer: few short requests or many long ones."""
    n = rng.randint(2, pieces)
    return [torch.randn(rng.randint(1, longest), DIM).to("npu") for _ in range(n)]


def event_us(batch):
    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    start.record()
    torch.cat(batch, dim=0)
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def main():
    rng = random.Random(5)
    print(f"torch.cat of ragged requests, fp32, width {DIM}, a batch not used before for each sample, hot cache;")
    print("time between two events around one call on an idle device, so the issue is in it")
    for pieces, longest in [(8, 512), (16, 1024), (32, 1024)]:
        for _ in range(4):
            event_us(ragged(pieces, longest, rng))
        batch = ragged(pieces, longest, rng)
        assert torch.equal(torch.cat(batch).cpu(), torch.cat([b.cpu() for b in batch]))
        us = [event_us(ragged(pieces, longest, rng)) for _ in range(6)]
        print(f"packing of up to {pieces} requests of up to {longest} tokens takes {sum(us) / len(us):.3f} us")


main()
