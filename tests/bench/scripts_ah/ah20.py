"""clone() against copy_() into a buffer that is there already."""
import time

import numpy as np
import torch
import torch_npu

SIZES = [(1024, 2048), (2048, 2048)]
ROUNDS, CALLS = 13, 6


def candidates(x):
    buffer = torch.empty_like(x)

    def clone():
        return x.clone()

    def copy_into():
        return buffer.copy_(x)

    return [clone, copy_into]


def block(function):
    """us a call, average over one block"""
    begin = time.perf_counter()
    for _ in range(CALLS):
        function()
    took = time.perf_counter() - begin
    torch.npu.synchronize()   # drain, so that the next block finds an empty queue
    return took / CALLS * 1e6


def compare(shape, rng):
    host = torch.randn(shape)
    pair = candidates(host.npu())
    for f in pair:
        assert torch.equal(f().cpu(), host), f.__name__
        for _ in range(4):
            block(f)
    us = {f.__name__: [] for f in pair}
    for _ in range(ROUNDS):
        for i in rng.permutation(2):
            us[pair[i].__name__].append(block(pair[i]))
    return {name: np.array(v) for name, v in us.items()}


def main():
    rng = np.random.default_rng(17)
    print(f"device copies, float32, hot L2; {ROUNDS} rounds in drawn order, blocks of {CALLS} calls")
    for shape in SIZES:
        us = compare(shape, rng)
        moved = 2 * 4 * shape[0] * shape[1]
        print(f"{shape[0]} x {shape[1]}:")
        for name, v in us.items():
            q1, q2, q3 = np.percentile(v, [25, 50, 75])
            print(f"  {name:10} {q2:7.2f} us a copy (quartiles {q1:.2f} .. {q3:.2f}), {moved / q2 / 1e3:8.1f} GB/s")
        q1, q2, q3 = np.percentile(us["clone"] / us["copy_into"], [25, 50, 75])
        print(f"  clone / copy_into {q2:.3f} ({q1:.3f} .. {q3:.3f})")


main()
