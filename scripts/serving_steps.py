"""Writes data/serving_steps.csv: what each step of the served model gives, on modelled times; a few minutes.

python scripts/serving_steps.py            the table, from data/serving_step_times.csv, and the published claim
python scripts/serving_steps.py --times    first measures the steps' times anew on the simulated device
"""

from __future__ import annotations

import argparse
import csv

from labkit import device
from labkit.paths import repo_root
from labkit.serving import audit, step_times

FILE = repo_root() / "data" / "serving_steps.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", action="store_true", help="measure the steps' times first (some minutes)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.times:
        device.install()
        step_times.write(step_times.measured())
        step_times.StepTimes.load.cache_clear()
    rows = audit.steps_table(seed=arguments.seed)
    if arguments.seed == 0:
        with open(FILE, "w", encoding="utf-8", newline="") as text:
            text.write(
                f"# requests a second within {audit.LIMIT_MS:g} ms on P99, {audit.COUNT} Poisson requests, modelled; "
                "by scripts/serving_steps.py\n"
            )
            table = csv.DictWriter(text, audit.COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    for row in rows:
        print(f"{row['kind']:9} {row['step']:12} {row['qps']:7.0f} a second, {row['times_naive']:5.2f} times; copies "
              f"{100 * row['copy_share']:3.0f} %, {row['launches_per_token']:5.1f} launches a token")  # fmt: skip
    for step, rate, result in audit.claim(seed=arguments.seed):
        print(f"claim     {step:12} at {rate:.0f} a second: P99 {result.p(99):.0f} ms")


if __name__ == "__main__":
    main()
