"""Attention with normalised queries, keys and values, in half precision, at four lengths.

Wall time: perf_counter() of the host, the device drained before each reading. A sample is a chain of CHAIN calls.
"""
import statistics

import torch
import torch_npu  # noqa: F401

import labkit

HEADS, DIM = 8, 64
CHAIN, SAMPLES = 6, 11


def perf_counter():
    """Like time.perf_counter(), on the machine that the device belongs to."""
    return labkit.device.clock().host_us * 1e-6


def rms(t):
    """Root mean square norm; the mean is taken in float32, or it overflows on some checkpoints."""
    return t * torch.rsqrt(t.float().square().mean(-1, keepdim=True) + 1e-6)


def inputs(batch, length):
    packed = torch.randn(3, batch, HEADS, length, DIM, dtype=torch.float16).npu()
    return tuple(rms(part).contiguous() for part in packed)


def attention(q, k, v):
    weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * DIM**-0.5, dim=-1)
    return torch.matmul(weights, v)


def chains(q, k, v):
    for _ in range(CHAIN):
        attention(q, k, v)
    taken = []
    for _ in range(SAMPLES):
        torch.npu.synchronize()
        t0 = perf_counter()
        for _ in range(CHAIN):
            attention(q, k, v)
        torch.npu.synchronize()
        taken.append((perf_counter() - t0) / CHAIN * 1e6)
    return taken


def main():
    torch.manual_seed(12)
    print(f"attention, float16, {HEADS} heads of {DIM}; q, k, v stay in the L2; us per call,"
          f" {SAMPLES} samples of {CHAIN} calls")
    print(f"{'batch':>6} {'length':>7} {'median':>9} {'min':>9} {'max':>9}   {'TFLOP/s':>8}")
    for batch, length in ((1, 128), (2, 256), (1, 512), (2, 512)):
        q, k, v = inputs(batch, length)
        got = attention(q, k, v).float().cpu()
        want = torch.nn.functional.scaled_dot_product_attention(*(t.float().cpu() for t in (q, k, v)))
        torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
        us = chains(q, k, v)
        mid = statistics.median(us)
        flops = 4 * batch * HEADS * length * length * DIM
        print(f"{batch:>6} {length:>7} {mid:9.2f} {min(us):9.2f} {max(us):9.2f}   {flops / mid / 1e6:8.2f}")
    print("These are the float16 figures to put into the capacity plan.")


if __name__ == "__main__":
    main()
