"""Twelve planted failures and three healthy runs under the stability monitor -> data/migrate_failures.csv.

    python scripts/migrate_failures.py [--write]       # about 3 minutes on one core

The twelve follow a rule (labkit/migrate/failures.py), with the action that is right stated there. Each is planted with
seed 0 at step 24, and with a seed and at a step that nobody had looked at when the limits were set. A failure counts as
caught if the first anomaly of the run has its kind, place and action and comes at or after the planted step, in every
rank. Healthy runs: 300 steps, seeds 20, 21, 22; any anomaly is one too many. The last rows are what the monitor costs
of a step, modelled.
"""

from __future__ import annotations

import argparse
import csv
import sys

import torch

import labkit
from labkit.migrate import failures, model, precision, scenes, training
from labkit.migrate.monitor import Monitor
from labkit.paths import data_dir

DRAWN = ((0, 24), (20, 33))  # (seed, step)


def planted(rank: int, name: str, step: int, seed: int) -> list[tuple[int, str, str, str]]:
    """The anomalies of one run (in one of two ranks)."""
    torch.set_num_threads(1)
    watch = failures.run(name, step=step, steps=step + 12, seed=seed, rank=rank)
    return [(a.step, a.kind, a.where, a.action) for a in watch.anomalies]


def cost() -> tuple[float, float, float]:
    """Modelled microseconds of ten steps without a monitor, with one, and of one estimate of the curvature."""
    images, times = scenes.draw(64, seed=0), []
    for watch in (None, Monitor(), Monitor(curvature_every=10)):
        scale = precision.LossScale("npu", start=1024.0)
        run = training.train(
            model.small(0).npu(), images, 11, policy=precision.Policy(), scale=scale, monitor=watch, batch=32
        )
        times.append([step.us for step in run.steps[1:]])  # the first makes the optimizer's state
    return sum(times[0]), sum(times[1]), times[2][-1] - times[1][-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="data/migrate_failures.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, good = [], True
    for name, failure in failures.PLANTED.items():
        for seed, step in DRAWN:
            if failure.ranks:
                found = labkit.ranks(2, planted, name, step, seed, timeout=600).results
            else:
                found = [planted(0, name, step, seed)]
            wanted = (failure.kind, failure.where, failure.action)
            firsts = [ours[0] if ours else ("", "", "", "") for ours in found]
            caught = all(first[1:] == wanted and first[0] >= step for first in firsts)
            good &= caught
            rows.append([name, seed, step, *wanted, *firsts[0], ("no", "yes")[caught]])
            print(*rows[-1], sep=" | ", flush=True)
    for seed in (20, 21, 22):
        watch = failures.run(steps=300, seed=seed)
        first = watch.anomalies[0] if watch.anomalies else None
        shown = (first.step, first.kind, first.where, first.action) if first else ("", "", "", "")
        good &= first is None
        rows.append(["none", seed, "", "", "", "", *shown, ("no", "yes")[first is None]])
        print(*rows[-1], sep=" | ", flush=True)
    without, watched, bent = cost()
    each = (watched - without) / without
    often = (watched - without + bent * 10 / 500) / without
    print(f"modelled: a step takes {each:.1%} longer, with the curvature in every 500th {often:.1%}")
    good &= often <= 0.05
    if options.write:
        with (data_dir() / "migrate_failures.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            head = "planted seed step kind where action noted_step noted_kind noted_where noted_action ok"
            writer.writerow(head.split())
            writer.writerows(rows)
            for name, share in (("monitor, share of a step", each), ("with curvature every 500 steps", often)):
                writer.writerow([name, *[""] * 8, f"{share:.4f}", ("no", "yes")[share <= 0.05]])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
