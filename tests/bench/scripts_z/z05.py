"""How long until a host buffer has arrived on the card: pageable memory against pinned memory."""
import itertools
import statistics as st
from time import perf_counter

import torch
import torch_npu

KIB = [64, 512, 4096]
ROUNDS = 24


def arrival(buffer, target):
    """From the call until the bytes are there. A wait for each copy: the arrival is what is asked for."""
    begin = perf_counter()
    target.copy_(buffer, non_blocking=buffer.is_pinned())
    torch.npu.current_stream().synchronize()
    return (perf_counter() - begin) * 1e6


def study(kib):
    pageable = torch.arange(kib * 256, dtype=torch.float32)
    pinned = pageable.clone().pin_memory()
    target = torch.empty_like(pageable, device="npu")
    sources = {"pageable": pageable, "pinned": pinned}
    for source in sources.values():
        for _ in range(4):
            arrival(source, target)
        assert torch.equal(target.cpu(), pageable)
        target.zero_()
    torch.npu.synchronize()
    times = {name: [] for name in sources}
    orders = itertools.cycle([("pageable", "pinned"), ("pinned", "pageable")])
    for order in itertools.islice(orders, ROUNDS):
        for name in order:
            times[name].append(arrival(sources[name], target))
    return times


print(f"Host to device, latency of one copy from the call to its arrival, {ROUNDS} rounds in alternating order")
for kib in KIB:
    times = study(kib)
    ratio = [a / b for a, b in zip(times["pageable"], times["pinned"])]
    for name, us in times.items():
        q1, q2, q3 = st.quantiles(us, n=4)
        print(f"  {kib:5d} KiB {name:9} median {q2:8.1f} us  quartiles {q1:.1f} .. {q3:.1f}  slowest {max(us):.1f}")
    q1, q2, q3 = st.quantiles(ratio, n=4)
    print(f"  {kib:5d} KiB pageable / pinned, within a round: {q2:.2f} ({q1:.2f} .. {q3:.2f})")
