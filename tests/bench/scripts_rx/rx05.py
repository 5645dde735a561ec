"""bench_cat.py -- joining K/V pieces. Collects bench_* functions the way pytest would."""
import contextlib
import statistics
import time

import torch
import torch_npu

PIECES, ROWS, COLS = 4, 512, 1024
REPEAT, INNER = 15, 20


class Stopwatch:
    wall = None
    device = None


@contextlib.contextmanager
def both_clocks():
    watch = Stopwatch()
    first, last = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin = time.perf_counter()
    first.record()
    yield watch
    last.record()
    torch.npu.synchronize()
    watch.wall = (time.perf_counter() - begin) * 1e6
    watch.device = first.elapsed_time(last) * 1e3


def pieces():
    torch.manual_seed(0)
    return [torch.randn(ROWS, COLS).half().to("npu") for _ in range(PIECES)]


def bench_cat(parts):
    """torch.cat, new output"""
    return lambda: torch.cat(parts, dim=1)


def bench_cat_out(parts):
    """torch.cat, out= given"""
    target = torch.empty(ROWS, COLS * PIECES, dtype=torch.float16, device="npu")

    def join():
        torch.cat(parts, dim=1, out=target)
        return target

    return join


def bench_slices(parts):
    """copy_ into slices, given"""
    target = torch.empty(ROWS, COLS * PIECES, dtype=torch.float16, device="npu")
    lanes = list(target.split(COLS, dim=1))

    def join():
        for lane, part in zip(lanes, parts):
            lane.copy_(part)
        return target

    return join


def collect():
    return [f for name, f in globals().items() if name.startswith("bench_")]


def main():
    parts = pieces()
    want = torch.cat([p.cpu() for p in parts], dim=1)
    moved = 2 * want.numel() * want.element_size()
    print(f"{PIECES} x [{ROWS},{COLS}] fp16, dim 1; {moved / 2**20:.0f} MiB read+written per join, L2 warm")
    print(f"{REPEAT} windows x {INNER} joins; columns are us per join: median and slowest window")
    print(f"{'variant':<24}{'dev med':>9}{'dev max':>9}{'wall med':>10}{'wall max':>10}{'GB/s dev':>10}  equal")
    for make in collect():
        join = make(parts)
        for _ in range(3):
            join()
        dev, wall = [], []
        for _ in range(REPEAT):
            with both_clocks() as watch:
                for _ in range(INNER):
                    join()
            dev.append(watch.device / INNER)
            wall.append(watch.wall / INNER)
        same = torch.equal(join().cpu(), want)
        print(f"{make.__doc__:<24}{statistics.median(dev):9.2f}{max(dev):9.2f}"
              f"{statistics.median(wall):10.1f}{max(wall):10.1f}"
              f"{moved / statistics.median(dev) / 1e3:10.0f}  {'yes' if same else 'NO'}")
    print("wall includes the closing synchronize once per window; 'given' = output allocated outside the window")


if __name__ == "__main__":
    main()
