"""Running totals for a client whose data live on the host: is it worth sending them to the card?

What is timed is the whole way: host to device, cumsum, device to host. The report says so, and gives the share of the
copies next to it (by events, from runs of their own), so that nobody takes the figure for that of the operator.
"""
import functools

import numpy as np
import torch
import torch_npu  # noqa: F401

import labkit

REGISTER = []


def host_us():
    return labkit.device.clock().host_us


def end_to_end(repeats, warmup=4):
    """Decorates a function that makes a host-to-host callable: it gets .samples(), in us of the host's clock."""

    def wrap(make):
        @functools.wraps(make)
        def samples(*args):
            call = make(*args)
            for _ in range(warmup):
                call()
            out = []
            for _ in range(repeats):
                torch.npu.synchronize()
                t0 = host_us()
                call()  # returns when the result lies on the host
                torch.npu.synchronize()
                out.append(host_us() - t0)
            return np.array(out)

        REGISTER.append((make.__name__, samples, repeats))
        return samples

    return wrap


@end_to_end(repeats=20)
def pageable(rows, cols):
    series = torch.rand(rows, cols)
    return lambda: torch.cumsum(series.npu(), dim=1).cpu()


@end_to_end(repeats=20)
def pinned(rows, cols):
    series = torch.rand(rows, cols).pin_memory()
    return lambda: torch.cumsum(series.to("npu", non_blocking=True), dim=1).cpu()


def operator_us(rows, cols, count=20):
    """cumsum alone, data resident and as the call before left them: median device time."""
    series = torch.rand(rows, cols).npu()
    for _ in range(4):
        torch.cumsum(series, dim=1)
    marks = [[torch.npu.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    torch.npu._sleep(200_000)
    for a, b in marks:
        a.record()
        torch.cumsum(series, dim=1)
        b.record()
    torch.npu.synchronize()
    return float(np.median([1e3 * a.elapsed_time(b) for a, b in marks]))


if __name__ == "__main__":
    torch.manual_seed(8)
    check = torch.rand(8, 300)
    torch.testing.assert_close(torch.cumsum(check.npu(), 1).cpu(), torch.cumsum(check, 1))
    print("cumsum along rows, float32, host to host: BOTH COPIES AND THE WAIT ARE IN THE TIME")
    for shape in ((64, 1024), (256, 4096), (1024, 4096)):
        alone = operator_us(*shape)
        for name, samples, repeats in REGISTER:
            us = samples(*shape)
            p10, p50, p90 = np.percentile(us, [10, 50, 90])
            print(f"{shape[0]:>5} x {shape[1]:<5} {name:9} median {p50:8.1f} us  P10 {p10:8.1f}  P90 {p90:8.1f}"
                  f"  n={repeats}  of which cumsum alone {alone:6.1f} ({alone / p50:.0%})")
