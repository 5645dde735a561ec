"""fp32 and mixed precision, three seeds each, on the simulated npu -> data/migrate_training.csv: what models score.

    python scripts/migrate_training.py [--steps 600] [--write]       # about 5 minutes on one core

The rule, stated before the runs: seeds 0, 1, 2 decide weights, batches and their order; the model, the loop and 200
held-out scenes are the same. A metric's value for an image is its mean over the seeds; the fp32 interval is the
bootstrap's over images. Mixed precision passes a metric if its value is not below the fp32 interval's lower end, and
the bar is all eight metrics. Rows of single seeds are shown beside it. The values depend on the host's arithmetic in
their last digits, and a run of 600 steps carries that on: another host's table differs a little.
"""

from __future__ import annotations

import argparse
import csv
import sys

import numpy as np
import torch

import labkit  # noqa: F401  (the device)
from labkit.migrate import evaluation, model, precision, scenes, training
from labkit.paths import data_dir

SEEDS = (0, 1, 2)


def one(kind: str, seed: int, steps: int) -> tuple[training.Run, dict[str, evaluation.Metric]]:
    """A trained and evaluated model."""
    policy = precision.Policy() if kind == "mixed" else None
    scale = precision.LossScale("npu", interval=100, enabled=policy is not None)
    net = model.small(seed).npu()
    run = training.train(net, scenes.draw(4000, seed=seed), steps, policy=policy, scale=scale, rate=5e-3, seed=seed)
    return run, evaluation.evaluate(net, scenes.draw(200, seed=99, held_out=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--write", action="store_true", help="data/migrate_training.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, pooled = [], {}
    for kind in ("fp32", "mixed"):
        each: dict[str, list[np.ndarray]] = {}
        for seed in SEEDS:
            run, found = one(kind, seed, options.steps)
            skipped = sum(step.skipped for step in run.steps)
            print(f"{kind} {seed}: loss {run.losses[-1]:.3f}, {skipped} steps left out, {found['vqa']}", flush=True)
            for key, m in found.items():
                rows.append([kind, seed, key, *_shown(m), skipped, int(run.scales[-1]), ""])
                each.setdefault(key, []).append(m.each)
        pooled[kind] = {key: evaluation.metric(key, np.mean(lists, axis=0)) for key, lists in each.items()}
    good = True
    for kind in pooled:
        for key, m in pooled[kind].items():
            passed = m.value >= pooled["fp32"][key].low
            good &= passed
            rows.append([kind, "all", key, *_shown(m), "", "", ("no", "yes")[passed] if kind == "mixed" else ""])
            print(kind, m, "" if passed else "BELOW the fp32 interval")
    print("the bar:", "reached" if good else "missed")
    if options.write:
        with (data_dir() / "migrate_training.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow("kind seed metric value low high skipped last_scale reaches_fp32".split())
            writer.writerows(rows)
    return 0 if good else 1


def _shown(m: evaluation.Metric) -> list[str]:
    return [f"{x:.3f}" for x in (m.value, m.low, m.high)]


if __name__ == "__main__":
    sys.exit(main())
