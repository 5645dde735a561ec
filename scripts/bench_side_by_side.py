"""labkit.bench beside torch.utils.benchmark and triton.testing.do_bench, on the same noisy device.

    python scripts/bench_side_by_side.py [--first 1] [--seeds 200] [--csv data/bench_side_by_side.csv]

The true time is known: a kernel that takes 20 us (and 20.6 us, 3 % more) on the modelled clock, disturbed by
labkit.device.noise(seed). Each tool measures in its own way, with its defaults, on a device that begins anew with the
same seed. Twice: on a chip that lowers its clock by a quarter after 50 ms of load, as noise() has it, and on one that
never gets hot. The levels of the noise are for lessons; they were measured on no card. What each reports is a row:

- labkit: measure(), the median; compare() for the verdict.
- torch: Timer.timeit(1000), the mean of one run, as PyTorch's recipe shows it; blocked_autorange(), the median and the
  IQR of its blocks. Timer synchronises an accelerator around its timer; here the timer is the virtual clock.
- triton: do_bench() with its defaults (25 ms to warm up, 100 ms), the mean, which is its default, and the median. It is
  triton's own code, driven by the simulated device where triton can be imported, else a copy of its rule.
- same samples: the samples that labkit took, read the other tools' way: their mean, their median.

The rule. Wrong: more than 1 % from the true time. A verdict: labkit's own. The other tools give none, so theirs is what
their users do: two numbers, the second above the first by more than 1 %, is a slow-down (1 % is the band in which
torch.utils.benchmark's Compare colours two results alike). For blocked_autorange also as a careful user reads it: the
difference must exceed the larger IQR of the two as well.
False alarm: the same kernel twice, called slower. Found: 20.6 us after 20 us, called slower.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import statistics
import sys
from pathlib import Path

import torch
from torch.utils import benchmark

from labkit import bench, chips, device

TRUE_US, RATIO, WRONG, SLOWER = 20.0, 1.03, 0.01, 0.01


def busy(us: float):
    """A function whose kernel takes so many modelled microseconds."""
    return lambda: device.launch("busy", us)


def clock() -> float:
    """What torch.utils.benchmark takes for its timer: seconds, behind all work of the device."""
    torch.npu.synchronize()
    return device.clock().host_us * 1e-6


def timer(function) -> benchmark.Timer:
    return benchmark.Timer("function()", globals={"function": function}, timer=clock)


def torch_timeit(function) -> tuple[float, float]:
    return 1e6 * timer(function).timeit(1000).mean, 0.0


def torch_autorange(function, called_before: bool = True) -> tuple[float, float]:
    """blocked_autorange sizes its blocks by the first call; where that one is slow a block is a single call, whose
    issue by the host is then in the time."""
    if called_before:
        function()
        torch.npu.synchronize()
    found = timer(function).blocked_autorange()
    return 1e6 * found.median, 1e6 * found.iqr


class _Driver:
    """What do_bench asks the active driver for. The L2 is emptied by a fill of 256 MB, as triton's drivers do; here its
    time is modelled and the memory is small."""

    def get_device_interface(self):
        return torch.npu

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache) -> None:
        device.launch("fill", 256e6 / chips.flat(device.chip())["operators.hbm"] * 1e6)
        device.clear_l2()


def do_bench():
    """(the function, whether it is triton's own)."""
    try:
        import triton
        from triton import testing

        triton.runtime.driver.set_active(_Driver())
        return testing.do_bench, f"triton {triton.__version__}"
    except ImportError:
        return _as_triton_does, "triton's rule"


def _as_triton_does(fn, warmup: float = 25, rep: float = 100, return_mode: str = "mean"):
    """A run of five gives the estimate; its share of 25 ms warms up, its share of 100 ms is timed."""
    driver = _Driver()
    pairs = lambda n: [[torch.npu.Event(enable_timing=True) for _ in range(2)] for _ in range(n)]  # noqa: E731
    fn()
    torch.npu.synchronize()
    ((begin, end),) = pairs(1)
    begin.record()
    for _ in range(5):
        driver.clear_cache(None)
        fn()
    end.record()
    torch.npu.synchronize()
    estimate = begin.elapsed_time(end) / 5
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    taken = pairs(max(1, int(rep / estimate)))
    for begin, end in taken:
        driver.clear_cache(None)
        begin.record()
        fn()
        end.record()
    torch.npu.synchronize()
    times = [begin.elapsed_time(end) for begin, end in taken]
    return times if return_mode == "all" else getattr(statistics, return_mode)(times)


def triton_times(run, function) -> list[float]:
    """All times of do_bench, on a device that has cleared its cache before: else its estimate would have the fill's
    first launch in it, which is slow, and it would take a tenth of the samples."""
    _Driver().clear_cache(None)
    torch.npu.synchronize()
    return run(function, return_mode="all")


class Row:
    """What one tool said over all seeds."""

    def __init__(self, chip: str, tool: str, reports: str) -> None:
        self.chip, self.tool, self.reports = chip, tool, reports
        self.errors: list[float] = []
        self.alarms = self.found = self.pairs = 0

    def add(self, first: float, again: float, slower: float, margins: tuple[float, float] = (0.0, 0.0)) -> None:
        """margins: what the differences (of the same and of the slower kernel) must exceed besides the 1 %."""
        self.errors.append(first / TRUE_US - 1)
        self.verdicts(
            again > first * (1 + SLOWER) and again - first > margins[0],
            slower > first * (1 + SLOWER) and slower - first > margins[1],
        )

    def verdicts(self, alarm: bool, found: bool) -> None:
        self.alarms, self.found, self.pairs = self.alarms + alarm, self.found + found, self.pairs + 1

    def values(self) -> dict:
        size = sorted(abs(e) for e in self.errors)
        return {
            "chip": self.chip,
            "tool": self.tool,
            "reports": self.reports,
            "seeds": self.pairs,
            "wrong_by_more_than_1_percent": sum(e > WRONG for e in size),
            "median_error_percent": round(100 * statistics.median(self.errors), 2),
            "largest_error_percent": round(100 * size[-1], 2),
            "3_percent_slower_found": self.found,
            "false_alarms": self.alarms,
        }


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--first", type=int, default=1, help="The first seed.")
    ask.add_argument("--seeds", type=int, default=200)
    ask.add_argument("--csv", type=Path, help="Where the table goes.")
    given = ask.parse_args()
    device.install()
    run, whose = do_bench()
    made: list[Row] = []
    for chip, levels in (("gets hot", {}), ("stays cool", {"hot_ms": 0.0})):
        rows = table(chip, whose)
        made += rows.values()
        for seed in range(given.first, given.first + given.seeds):
            one_seed(rows, run, seed, levels)
            if given.csv and (seed - given.first) % 10 == 9:
                write(given.csv, made)  # what there is so far
    write(given.csv, made)
    write(None, made)


def table(chip: str, triton: str) -> dict[str, Row]:
    torchs = f"torch.utils.benchmark {torch.__version__.split('+')[0]}"
    return {
        "labkit": Row(chip, "labkit.bench", "median, compare()"),
        "timeit": Row(chip, torchs, "timeit(1000): mean"),
        "first call": Row(chip, torchs, "blocked_autorange() on a function never called before: median"),
        "autorange": Row(chip, torchs, "blocked_autorange(): median"),
        "iqr": Row(chip, torchs, "blocked_autorange(): median, beyond the IQR"),
        "triton mean": Row(chip, f"{triton} do_bench", "mean (default)"),
        "triton median": Row(chip, f"{triton} do_bench", "median"),
        "mean": Row(chip, "labkit's samples", "mean"),
        "median": Row(chip, "labkit's samples", "median"),
    }


def one_seed(rows: dict[str, Row], run, seed: int, levels: dict) -> None:
    def three(tool):
        """tool() of the kernel, of it again and of the slower one, each on a device that was never used."""
        made = []
        for i, us in enumerate((TRUE_US, TRUE_US, TRUE_US * RATIO)):
            device.reset_clock()
            with device.noise(1_000_000 * i + seed, **levels):
                made.append(tool(busy(us)))
        return made

    taken = three(bench.measure)
    rows["mean"].add(*(float(m.samples.mean()) for m in taken))
    rows["median"].add(*(m.median.value for m in taken))
    rows["labkit"].errors.append(taken[0].median.value / TRUE_US - 1)
    said = []
    for ratio in (1.0, RATIO):
        with device.noise(seed, **levels):
            said.append(bench.compare(busy(TRUE_US), busy(TRUE_US * ratio), seed=seed).verdict == "slower")
    rows["labkit"].verdicts(*said)
    rows["timeit"].add(*(value for value, _ in three(torch_timeit)))
    rows["first call"].add(*(value for value, _ in three(functools.partial(torch_autorange, called_before=False))))
    (first, a), (again, b), (slower, c) = three(torch_autorange)
    rows["autorange"].add(first, again, slower)
    rows["iqr"].add(first, again, slower, (max(a, b), max(a, c)))
    all_times = three(functools.partial(triton_times, run))
    rows["triton mean"].add(*(1e3 * statistics.mean(times) for times in all_times))
    rows["triton median"].add(*(1e3 * statistics.median(times) for times in all_times))


def write(path: Path | None, rows: list[Row]) -> None:
    table = [row.values() for row in rows]
    with open(path, "w", newline="", encoding="utf-8") if path else contextlib.nullcontext(sys.stdout) as out:
        writer = csv.DictWriter(out, table[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
