"""What one eager call costs on the way to the device.

The tensors have a single element, so the device is done with a call before the host has issued the next one.
Two views of the same loop: how long the host is busy issuing a call (clock read before the wait, on purpose),
and at which interval the calls reach the device (events).
"""
import statistics
import time
from dataclasses import dataclass

import torch
import torch_npu

CALLS = 300
REPEATS = 9


@dataclass
class Dispatch:
    call: str
    calls: int
    repeats: int
    host_issue_us_median: float
    device_interval_us_median: float | None = None
    device_interval_us_min: float | None = None
    device_interval_us_max: float | None = None


def observe(name, function, launches=True):
    for _ in range(30):
        function()
    issue, interval = [], []
    for _ in range(REPEATS):
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        torch.npu.synchronize()
        begin.record()
        t0 = time.perf_counter()
        for _ in range(CALLS):
            function()
        t1 = time.perf_counter()
        end.record()
        end.synchronize()
        issue.append((t1 - t0) / CALLS * 1e6)
        interval.append(begin.elapsed_time(end) / CALLS * 1e3)
    seen = Dispatch(name, CALLS, REPEATS, round(statistics.median(issue), 2))
    if launches:  # otherwise nothing reaches the device between the events
        seen.device_interval_us_median = round(statistics.median(interval), 2)
        seen.device_interval_us_min = round(min(interval), 2)
        seen.device_interval_us_max = round(max(interval), 2)
    return seen


def main():
    one = torch.ones(1, device="npu")
    out = torch.empty_like(one)
    grad = torch.ones(1, device="npu", requires_grad=True)

    cases = {
        "nothing (the Python loop itself)": (lambda: None, False),
        "one.view(1, 1) (no launch)": (lambda: one.view(1, 1), False),
        "one.add_(1)": (lambda: one.add_(1), True),
        "torch.add(one, 1)": (lambda: torch.add(one, 1), True),
        "torch.add(one, 1, out=out)": (lambda: torch.add(one, 1, out=out), True),
        "grad * 2 (recorded by autograd)": (lambda: grad * 2, True),
    }
    print(f"# {torch.npu.get_device_name(0)}; time to issue, not time of a kernel")
    for name, (function, launches) in cases.items():
        print(observe(name, function, launches))


if __name__ == "__main__":
    main()
