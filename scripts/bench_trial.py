"""The benchmark kit on a noisy device: how often it is right, over seeds of the noise.

python scripts/bench_trial.py [--first 1] [--seeds 200]: the share of medians within 1 % of the true one, of 95-percent
intervals that hold it, and of verdicts on a program beside itself and beside one that is 3 % slower. Two minutes
for 200 seeds. The true time is known: a kernel that takes a given time on the modelled clock.
"""

from __future__ import annotations

import argparse
from collections import Counter

from labkit import bench, device

TRUE_US = 20.0


def busy(us: float):
    """A function whose kernel takes so many modelled microseconds."""
    return lambda: device.launch("busy", us)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--first", type=int, default=1, help="The first seed.")
    ask.add_argument("--seeds", type=int, default=200)
    ask.add_argument("--only-intervals", action="store_true", help="No comparisons.")
    given = ask.parse_args()
    device.install()
    seeds = range(given.first, given.first + given.seeds)
    near = held = 0
    for seed in seeds:
        with device.noise(seed):
            median = bench.measure(busy(TRUE_US)).median
        near += abs(median.value / TRUE_US - 1) < 0.01
        held += median.low <= TRUE_US <= median.high
    print(f"medians within 1 %: {near} of {given.seeds}; intervals of 95 % that hold the true one: {held}", flush=True)
    for ratio in () if given.only_intervals else (1.0, 1.03):
        said: Counter = Counter()
        for seed in seeds:
            with device.noise(seed):
                said[bench.compare(busy(TRUE_US), busy(TRUE_US * ratio), seed=seed).verdict] += 1
        print(f"{ratio:.2f} times as long: {dict(said)}", flush=True)


if __name__ == "__main__":
    main()
