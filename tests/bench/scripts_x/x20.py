import torch
import torch_npu
from collections import defaultdict

import numpy as np

EPSILON = 1e-5
ROUNDS, CALLS = 4, 4


def separate(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.pow(2).mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + EPSILON) * weight + bias


def fused(x, weight, bias):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, EPSILON)


def block(function, args):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    function(*args)
    begin.record()
    for _ in range(CALLS):
        function(*args)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3 / CALLS


def case(rows, hidden):
    generator = torch.Generator().manual_seed(rows)
    host = [torch.randn(rows, hidden, generator=generator)] + [torch.rand(hidden, generator=generator) for _ in range(2)]
    args = [tensor.npu() for tensor in host]
    for function in (separate, fused):
        torch.testing.assert_close(function(*args).cpu(), separate(*host), rtol=1e-3, atol=1e-4)
        for _ in range(8):
            function(*args)
    torch.npu.synchronize()
    seen = defaultdict(list)
    for _ in range(ROUNDS):
        for function in (separate, fused, fused, separate):
            seen[function].append(block(function, args))
    return {function.__name__: np.array(us).reshape(ROUNDS, 2).mean(axis=1) for function, us in seen.items()}


def main():
    for rows, hidden in ((512, 1024), (1024, 1024), (1536, 1024)):
        us = case(rows, hidden)
        ratio = us["separate"] / us["fused"]
        print(f"LayerNorm, float32 {rows} x {hidden}, device events, {ROUNDS} rounds of four blocks (A B B A) of {CALLS} calls")
        for name, values in us.items():
            print(f"  {name}: median {np.median(values):.1f} us, {values.min():.1f} to {values.max():.1f}")
        print(f"  at this shape the fused one is {np.median(ratio):.2f} times as fast, {ratio.min():.2f} to {ratio.max():.2f} by round")


if __name__ == "__main__":
    main()
