"""How many planted diseases the analyser names, and whether it leaves healthy programs alone.

python scripts/planted_trial.py [--seeds 3] [--first SEED] [--write]: twelve families with as many seeds each, and fifteen
healthy programs, written as trees of CANN 8 and 9 in turn. A disease counts as named when a finding has its code, as
first when that finding comes before the others. --write: data/planted_traces.csv.
"""

# ruff: noqa: E501  (rows of a table)
from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import planted_programs
import planted_tree

from labkit import trace

REPO = Path(__file__).resolve().parent.parent
HEADS = ["case", "seed", "headers", "sizes", "wanted", "named", "first", "findings"]


def judge(name: str, seed: int, machine, sizes: dict, wanted: str, folder: Path) -> dict:
    nine = seed % 2 == 0
    path = planted_tree.write(machine, folder / f"{name}{seed}", nine)
    found = trace.read(path, progress=False).findings()
    codes = [f.code for f in found]
    said = "; ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in sizes.items())
    ranked = next((f.fields.get("rank") for f in found if f.code == "slow-rank"), None)
    right = wanted in codes and (wanted != "slow-rank" or ranked == sizes["rank"])
    return {
        "case": name, "seed": seed, "headers": "CANN 9" if nine else "CANN 8", "sizes": said, "wanted": wanted or "nothing",
        "named": "yes" if (right if wanted else not codes) else "no", "first": "yes" if right and codes[0] == wanted else "" if not wanted else "no",
        "findings": "; ".join(f"{f.code} {100 * f.share:.0f} %" for f in found),
    }  # fmt: skip


def trial(seeds: range, well: range) -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for family in planted_programs.FAMILIES:
            for seed in seeds:
                machine, sizes = planted_programs.sick(family, seed)
                rows.append(judge(family, seed, machine, sizes, planted_programs.CODES[family], Path(scratch)))
        for seed in well:
            machine, sizes = planted_programs.well(seed)
            rows.append(judge("healthy", seed, machine, sizes, "", Path(scratch)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--healthy", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = trial(range(given.first, given.first + given.seeds), range(given.first, given.first + given.healthy))
    for row in rows:
        print(" | ".join(str(row[h]) for h in HEADS))
    sick = [r for r in rows if r["wanted"] != "nothing"]
    well = [r for r in rows if r["wanted"] == "nothing"]
    named, first = (sum(r[k] == "yes" for r in sick) for k in ("named", "first"))
    print(
        f"named {named} of {len(sick)}, first {first}; healthy left alone {sum(r['named'] == 'yes' for r in well)} of {len(well)}"
    )
    if given.write:
        with open(REPO / "data" / "planted_traces.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, HEADS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
