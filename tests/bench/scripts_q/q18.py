"""A layer norm written out of single operators, in float16, for a server that answers by asyncio: device time by shape."""
import asyncio

import numpy as np
import torch
import torch_npu  # noqa: F401

SHAPES = ((2048, 1024), (1024, 2048), (1024, 4096))
SAMPLES = 30


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5) * weight + bias


def tensors(rows, width):
    torch.manual_seed(rows)
    x, weight, bias = torch.rand(rows, width), torch.ones(width), torch.zeros(width)
    for tensor in (x, weight, bias):
        tensor = tensor.half()
    return x.npu(), weight.npu(), bias.npu()


async def request(inputs, marks):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    norm(*inputs)
    end.record()
    marks.append((start, end))
    await asyncio.sleep(0)


async def serve(shape):
    inputs, marks = tensors(*shape), []
    want = torch.nn.functional.layer_norm(inputs[0].cpu().float(), shape[1:])
    assert (norm(*inputs).cpu().float() - want).abs().max() < 2e-2
    for _ in range(5):
        await request(inputs, [])
    torch.npu.synchronize()
    for _ in range(SAMPLES):
        await request(inputs, marks)
    torch.npu.synchronize()
    return np.array([1e3 * start.elapsed_time(end) for start, end in marks])


async def main():
    for shape in SHAPES:
        us = await serve(shape)
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        print(f"{shape[0]:5} x {shape[1]:<5} P10 {p10:6.1f}  P50 {p50:6.1f}  P90 {p90:6.1f} us  n={len(us)}")
    print(f"written out, a float16 layer norm of {SHAPES[-1][0]} x {SHAPES[-1][1]} takes {p50:.0f} us, its input left in the L2")


asyncio.run(main())
