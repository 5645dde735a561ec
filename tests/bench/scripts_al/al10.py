#!/usr/bin/env python
"""cumsum over the last axis: latency per call, for the capacity planning of the sampler."""
import argparse
import time

import numpy as np
import torch
import torch_npu


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--shapes", nargs="+", default=["1x32000", "16x32000", "128x32000"])
    p.add_argument("--repeats", type=int, default=80)
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--dtype", choices=["float32", "float16"], default="float32")
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def measure(logits, repeats, warmup):
    for i in range(warmup):
        torch.cumsum(torch.softmax(logits[i % len(logits)], dim=-1), dim=-1)
    torch.npu.synchronize()

    passing = torch.empty(torch.npu.get_device_properties(0).L2_cache_size * 5 // 4, dtype=torch.uint8, device="npu")
    laps = []
    for i in range(repeats):
        probs = torch.softmax(logits[i % len(logits)], dim=-1)
        if i % 8 == 7:
            passing.zero_()
        torch.npu.synchronize()
        begin = time.perf_counter()
        torch.cumsum(probs, dim=-1)
        torch.npu.synchronize()
        laps.append((time.perf_counter() - begin) * 1e6)
    laps = np.sort(laps)[: int(0.85 * repeats)]
    return laps


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    dtype = getattr(torch, args.dtype)
    print(f"torch.cumsum(dim=-1), {args.dtype}, {args.repeats} repeats after {args.warmup} warm-up calls")
    print("probabilities are in L2, where the softmax in front has left them; before every eighth call a prefill's worth")
    print("of other data passes through it. us from call to finished result")
    print(f"{'shape':>12} {'p50':>9} {'p90':>9} {'p95':>9} {'worst':>9}")
    worst = 0.0
    for text in args.shapes:
        shape = tuple(map(int, text.split("x")))
        logits = [torch.randn(shape).to(dtype).to("npu") for _ in range(4)]
        x = torch.softmax(logits[0], dim=-1)
        torch.testing.assert_close(torch.cumsum(x, -1).cpu(), torch.cumsum(x.cpu(), -1), rtol=1e-3, atol=1e-3)
        laps = measure(logits, args.repeats, args.warmup)
        p50, p90, p95 = np.percentile(laps, [50, 90, 95])
        worst = max(worst, laps[-1])
        print(f"{text:>12} {p50:9.2f} {p90:9.2f} {p95:9.2f} {laps[-1]:9.2f}")
    print(f"No call of these shapes took more than {worst:.2f} us: plan the sampler's budget with that.")


if __name__ == "__main__":
    main()
