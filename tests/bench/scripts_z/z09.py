import csv
import functools
import io
import statistics

import labkit
import torch
import torch_npu

FIELDS = ["elements", "dtype", "L2 before the call", "p25 us", "median us", "p75 us", "max us", "calls"]


def emptied():
    labkit.device.clear_l2()


def untouched():
    pass


def between_events(before, call, n):
    """Issued in one go, so that the card always has the next launch waiting; read afterwards."""
    pairs = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(n)]
    torch.npu.synchronize()
    for first, last in pairs:
        before()
        first.record()
        call()
        last.record()
    torch.npu.synchronize()
    return [1e3 * first.elapsed_time(last) for first, last in pairs]


def main(n=24):
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for mega in 1, 4, 8:
        x, residual, result = (torch.ones(mega << 20).half().npu() for _ in range(3))
        call = functools.partial(torch.add, x, residual, out=result)
        for _ in range(10):
            call()
        assert result.sum(dtype=torch.float32).item() == 2 * (mega << 20)
        for state, before in ("empty", emptied), ("as the call before left it", untouched):
            call()
            us = between_events(before, call, n)[4:]  # the first four fill the queue
            p25, p50, p75 = statistics.quantiles(us, n=4)
            writer.writerow(dict(zip(FIELDS, [mega << 20, "float16", state, *(f"{v:.2f}" for v in (p25, p50, p75, max(us))), len(us)])))
    print("residual addition, device time of single launches; how much the cache matters")
    print(out.getvalue(), end="")


if __name__ == "__main__":
    main()
