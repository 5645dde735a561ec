# What does a caller wait for sort and topk? A ranking service asks, and needs the answer before it goes on: so every
# sample here is one call and one wait for the device. That is latency as the caller has it, with launch and wake-up;
# it is not the time of the kernel, which is shorter.
import random

import torch
import torch_npu  # noqa: F401

import labkit

CALLS = 60
SHAPES = [(16, 1000), (64, 2000), (128, 4000)]


def seconds():
    """The clock of the (simulated) host."""
    return labkit.device.clock().host_us * 1e-6


def closures(rows, cols):
    scores = torch.randn(rows, cols).npu()

    def full_sort():
        return torch.sort(scores, dim=1, descending=True)

    def top(k):
        def call():
            return torch.topk(scores, k, dim=1)

        return call

    return {"sort": full_sort, "topk 10": top(10), "topk 100": top(100)}


def latency(calls):
    """Each name's CALLS latencies in us; the names take turns, in an order drawn anew per turn."""
    for call in calls.values():
        for _ in range(8):
            call()
            torch.npu.synchronize()
    found = {name: [] for name in calls}
    names = list(calls)
    for _ in range(CALLS):
        random.shuffle(names)
        for name in names:
            call = calls[name]
            t = seconds()
            call()
            torch.npu.synchronize()
            found[name].append((seconds() - t) * 1e6)
    return found


random.seed(77)
torch.manual_seed(77)
print(f"Latency seen by the host (launch + device + wait in every call), float32, {CALLS} calls each")
for shape in SHAPES:
    calls = closures(*shape)
    reference = calls["sort"]().values
    for k in (10, 100):  # the same numbers come first
        assert torch.equal(calls[f"topk {k}"]().values.cpu(), reference[:, :k].cpu())
    print(f"  {shape[0]} rows of {shape[1]}; the scores are where the last call left them")
    for name, us in latency(calls).items():
        us.sort()
        at = lambda q: us[min(len(us) - 1, int(q * len(us)))]
        print(f"    {name:9} median {at(.5):7.1f}   P90 {at(.9):7.1f}   P99 {at(.99):7.1f}   max {us[-1]:7.1f} us")
