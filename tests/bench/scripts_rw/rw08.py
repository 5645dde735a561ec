"""GELU with erf and with tanh, down a ladder of sizes."""
import torch
import torch.nn.functional as F
import torch_npu

CALLS = 10
REPEAT = 15
torch.set_num_threads(1)


def window(approximate, x):
    """Device milliseconds of CALLS calls; the device is idle before and after."""
    before, after = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    before.record()
    for _ in range(CALLS):
        F.gelu(x, approximate=approximate)
    after.record()
    torch.npu.synchronize()
    return before.elapsed_time(after)


def descend(elements, level=0):
    if elements < 4096:
        return
    x = torch.linspace(-4, 4, elements).half().npu()
    pad = "    " * level
    print(f"{pad}- {elements} elements, float16")
    medians = {}
    for approximate in ("none", "tanh"):
        window(approximate, x)
        windows = torch.tensor([window(approximate, x) for _ in range(REPEAT)], dtype=torch.float64)
        us = windows * 1000 / CALLS
        medians[approximate] = us.median().item()
        print(f"{pad}    . approximate={approximate!r}: {medians[approximate]:.2f} us/call, windows {us.min():.2f} to {us.max():.2f}")
    apart = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs().max().item()
    print(f"{pad}    . none / tanh = {medians['none'] / medians['tanh']:.2f}; results differ by up to {apart:.1e} (different formulas)")
    descend(elements // 8, level + 1)


print(f"us/call = median over {REPEAT} windows, window = {CALLS} calls between two events, with a wait for an idle device")
print("on either side of it and one window ahead for warming up. Launch gaps are inside: on the small rungs they can be most of the figure.")
print("The input is the same in each call, the ladder's largest has 2 MiB: everything from L2.")
descend(1 << 20)
