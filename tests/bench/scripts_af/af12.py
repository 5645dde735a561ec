import labkit
import random

import numpy as np
import torch
import torch.nn.functional as F

# The gate of a feed-forward layer, silu(gate) * up: PyTorch's silu, or spelled out.


def library(gate, up):
    return F.silu(gate) * up


def spelled_out(gate, up):
    return gate * torch.sigmoid(gate) * up


CANDIDATES = {"library": library, "spelled out": spelled_out}
SHAPES = [(16, 1024), (256, 1024), (1024, 1024)]
PAIRS, SETS = 120, 4


def record(function, arguments):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    function(*arguments)
    end.record()
    return begin, end


def same_values(sets):
    for gate, up in sets:
        exact = F.silu(gate.cpu().double()) * up.cpu().double()
        for function in CANDIDATES.values():
            torch.testing.assert_close(function(gate, up).cpu().double(), exact, rtol=1e-4, atol=1e-5)


def quartiles(values):
    low, mid, high = np.percentile(values, [25, 50, 75])
    return f"{mid:.2f} ({low:.2f} to {high:.2f})"


draw = random.Random(12)
print("silu(gate) * up, float32, warm L2 (4 input sets in turn), from an event before to one behind it (gaps between its launches count), median (quartiles)")
for shape in SHAPES:
    torch.manual_seed(shape[0])
    sets = [(torch.randn(shape, device="npu"), torch.randn(shape, device="npu")) for _ in range(SETS)]
    same_values(sets)

    pairs = []
    for i in range(PAIRS + 30):
        names = draw.sample(list(CANDIDATES), 2)  # who goes first is drawn for each pair
        pairs.append({name: record(CANDIDATES[name], sets[i % SETS]) for name in names})
    torch.npu.synchronize()
    pairs = pairs[30:]  # the first 30 pairs are the warm-up

    us = {name: np.array([1e3 * pair[name][0].elapsed_time(pair[name][1]) for pair in pairs]) for name in CANDIDATES}
    ratio = us["spelled out"] / us["library"]
    low, high = np.percentile(ratio, [25, 75])
    word = "faster" if low > 1.02 else "slower" if high < 0.98 else "neither faster nor slower"
    print(
        f"{shape[0]:4} x {shape[1]}: library {quartiles(us['library'])} us, spelled out {quartiles(us['spelled out'])} us, "
        f"ratio in a pair {quartiles(ratio)}, {PAIRS} pairs: the library's is {word}"
    )
print("Said for these three shapes only; the values of both agree with a float64 reference.")
