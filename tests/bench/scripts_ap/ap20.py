# Attention throughput: as many calls as fit in a window of fixed length, seven windows a shape.
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

WINDOW_S, WINDOWS, CHUNK, WARM = 0.001, 7, 4, 12


def window(calls, seconds):
    torch.npu.synchronize()
    done, start = 0, time.perf_counter()
    while True:
        for _ in range(CHUNK):
            calls(done)
            done += 1
        torch.npu.synchronize()              # only finished calls count, and the clock is read after them
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return done, elapsed


def main():
    for batch, heads, seq, dim in [(1, 2, 32, 64), (1, 4, 64, 32)]:
        qkv = [tuple(torch.randn(batch, heads, seq, dim).half().npu() for _ in range(3)) for _ in range(6)]

        def attend(i):
            q, k, v = qkv[i % len(qkv)]
            return F.scaled_dot_product_attention(q, k, v)

        q, k, v = (t.cpu().float() for t in qkv[0])
        expected = torch.softmax(q @ k.transpose(-1, -2) / dim ** 0.5, dim=-1) @ v
        torch.testing.assert_close(attend(0).cpu().float(), expected, rtol=1e-2, atol=1e-2)
        for i in range(WARM):
            attend(i)

        rates, total = [], 0
        for _ in range(WINDOWS):
            done, elapsed = window(attend, WINDOW_S)
            rates.append(done / elapsed)
            total += done
        flops = 4 * batch * heads * seq * seq * dim
        mid = statistics.median(rates)
        print(f"attention fp16 (b={batch}, h={heads}, s={seq}, d={dim}), no mask, 6 inputs in turn hot in L2: "
              f"{mid:,.0f} calls/s (lowest window {min(rates):,.0f}, highest {max(rates):,.0f}; {WINDOWS} windows of at least "
              f"{WINDOW_S * 1e3:.0f} ms, {total} calls, waiting after every {CHUNK} included) = {mid * flops / 1e12:.3f} TFLOP/s")


main()
