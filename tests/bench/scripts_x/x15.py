import torch
import torch_npu

import numpy as np

ROUNDS, CALLS = 6, 4


def block_us(a, b):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a @ b
    begin.record()
    for _ in range(CALLS):
        a @ b
    end.record()
    return begin, end


def compare(n):
    generator = torch.Generator().manual_seed(n)
    a64, b64 = (torch.randn(n, n, generator=generator, dtype=torch.float64) for _ in range(2))
    operands = {dtype: (a64.to(dtype).npu(), b64.to(dtype).npu()) for dtype in (torch.float32, torch.bfloat16)}

    exact = a64 @ b64
    errors = {}
    for dtype, (a, b) in operands.items():
        y = a @ b
        assert y.dtype == dtype and y.shape == (n, n)
        errors[dtype] = float((y.cpu().double() - exact).norm() / exact.norm())
    assert errors[torch.float32] < 1e-4 and errors[torch.bfloat16] < 1e-2

    for pair in operands.values():
        for _ in range(8):
            pair[0] @ pair[1]
    torch.npu.synchronize()

    events = {dtype: [] for dtype in operands}
    for number in range(ROUNDS):
        order = list(operands) if number % 2 == 0 else list(operands)[::-1]
        for dtype in order:
            events[dtype].append(block_us(*operands[dtype]))
        torch.npu.synchronize()
    times = {dtype: np.array([s.elapsed_time(e) * 1e3 / CALLS for s, e in pairs]) for dtype, pairs in events.items()}
    return times, errors


def main():
    print("What does one give and get by storing the operands of a matmul as bfloat16 in place of float32?")
    for n in (768, 1024):
        times, errors = compare(n)
        for dtype, us in times.items():
            print(f"  {n} x {n} x {n} {str(dtype)[6:]}: median {np.median(us):.1f} us ({us.min():.1f} to {us.max():.1f}, "
                  f"{ROUNDS} rounds of {CALLS}), relative error {errors[dtype]:.1e}")
        ratio = times[torch.float32] / times[torch.bfloat16]
        print(f"  {n}: float32 takes {np.median(ratio):.2f} times as long, {ratio.min():.2f} to {ratio.max():.2f} by round; "
              "the results differ by the rounding above")


if __name__ == "__main__":
    main()
