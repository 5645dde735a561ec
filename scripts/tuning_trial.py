"""Searches beside each other on problems whose candidates were all timed.

    python scripts/tuning_trial.py --tables run/tuning                    # times all candidates, once
    python scripts/tuning_trial.py --tables run/tuning --kernel-tuner PY  # PY: a Python that has kernel-tuner 1.5.0
    python scripts/tuning_trial.py --tables run/tuning --write            # data/tuning.csv, and the test
    python scripts/tuning_trial.py --tables run/tuning --policy --write   # the rows of the policy alone, anew

scripts/tuning_problems.py has the problems and the rule by which they are chosen. Each search has the same budget, 15 %
of the candidates rounded down, and sees the table instead of the clock: 3 times, Kernel Tuner's strategies 10 times,
random search 200 times. `ratio` is the best time it found over the least one of all candidates. The test: for each
problem log of the mean ratio over the seeds, ours less random search's; Wilcoxon's signed-rank test over the problems,
one-sided.

The policy (labkit.tuning.Policy: REINFORCE, torch alone) searches in two ways. "REINFORCE": it begins anew with each
problem, and every candidate that it draws is one of the budget. "REINFORCE learnt": the eight problems of the generator
have features in common, so it learns on seven of them, with as many launches as a search would have there (15 % of
their candidates) or with LONG rounds, and then has the budget for the eighth, whose candidates it takes in the order of
its scores. `learning` counts the launches before that; other methods have none. The five other problems have no such
features: there nothing can be learnt on others.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tuning_problems import problems

from labkit.tuning import Policy, Table
from labkit.tuning.policy import Lesson, places
from labkit.tuning.search import BUDGET, evaluations, tune

HERE = Path(__file__).parent
OUT = HERE.parent / "data" / "tuning.csv"
SEEDS, CHANCES = 3, 200  # of a search; of random search, which costs nothing here
NEAR = 1.05
COLUMNS = (
    "problem kind chip candidates least_us untuned method seeds budget ratio_mean ratio_worst within "
    "evaluations_to_near learning"
).split()
LONG = 150  # rounds of eight draws of each problem


def tables(folder: Path) -> dict[str, tuple[str, Table]]:
    """Of each problem, timed where the folder has none yet."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, (kind, make) in problems().items():
        file = folder / f"{name}.json"
        if not file.exists():
            began = time.time()
            made = Table.of(make())
            made.save(file)
            print(f"{name}: {made.evaluations} candidates, {time.time() - began:.0f} s", flush=True)
        found[name] = kind, Table.load(file)
    return found


# ---- searches: each gives the times in the order in which they were tried; infinite for a failure


def by_chance(table: Table, budget: int, seed: int) -> list[float]:
    keys = [*table.times, *table.failed]
    random.Random(f"{table.problem.name}/{seed}").shuffle(keys)
    return [table.times.get(k, math.inf) for k in keys[:budget]]


def by_prediction(table: Table, budget: int, seed: int) -> list[float]:
    """The candidates in the predictor's order."""
    keys = sorted([*table.times, *table.failed], key=lambda k: table.predicted[k])
    return [table.times.get(k, math.inf) for k in keys[:budget]]


def exhaustive(table: Table, budget: int, seed: int) -> list[float]:
    """In the order of the space, all of them."""
    return [table.times.get(k, math.inf) for k in [*table.times, *table.failed]]


def tuned(**options):
    def search(table: Table, budget: int, seed: int) -> list[float]:
        found = tune(table.replay(), budget=budget, seed=seed, **options)
        return [us for _, us in found.history] + [math.inf] * (found.evaluations - len(found.history))

    return search


SEARCHES = {
    "exhaustive": exhaustive,
    "random": by_chance,
    "labkit tune": tuned(),
    "labkit tune without predictor": "no predictor",
    "Optuna TPE": tuned(guided=False, prune=False),
    "Optuna NSGA-II": tuned(guided=False, prune=False, sampler="nsga2"),
    "predictor first": by_prediction,
}


def by_policy(table: Table, budget: int, seed: int) -> list[float]:
    keys = [*table.times, *table.failed]
    return Policy(seed).search(
        Lesson(table, [places(table.problem, table.problem.point(k)) for k in keys], keys), budget
    )


def row(name: str, kind: str, table: Table, method: str, runs: list, budget: int, learning: float = 0) -> dict:
    best = [table.ratio(min(r)) for r in runs]
    near = [next((i + 1 for i, us in enumerate(r) if table.ratio(us) <= NEAR), math.inf) for r in runs]
    middle = statistics.median(near)
    start = table.problem.start
    untuned = table.times.get(table.problem.key(start)) if start else None
    return {
        "problem": name,
        "kind": kind,
        "chip": table.problem.about["chip"],
        "candidates": table.evaluations,
        "least_us": f"{table.least:.3f}",
        "untuned": f"{table.ratio(untuned):.3f}" if untuned else "",
        "method": method,
        "seeds": len(runs),
        "budget": budget,
        "ratio_mean": f"{statistics.fmean(best):.4f}",
        "ratio_worst": f"{max(best):.4f}",
        "within": f"{sum(b <= NEAR for b in best) / len(best):.2f}",
        "evaluations_to_near": f"{middle:.0f}" if math.isfinite(middle) else "",
        "learning": f"{learning:.0f}",
    }


def judged(name: str, kind: str, table: Table) -> list[dict]:
    budget = evaluations(table.replay(), BUDGET)
    made = []
    for method, search in SEARCHES.items():
        if "predictor" in method and not table.predicted:
            continue
        its = Table(table.problem, table.times, {}, table.failed) if search == "no predictor" else table
        search = tuned() if search == "no predictor" else search
        count = {"exhaustive": 1, "predictor first": 1, "random": CHANCES}.get(method, SEEDS)
        runs = [search(its, budget, seed) for seed in range(count)]
        made.append(row(name, kind, table, method, runs, table.evaluations if method == "exhaustive" else budget))
        print(*list(made[-1].values())[6:], name, flush=True)
    return made


def foreign(name: str, kind: str, table: Table, others: dict) -> list[dict]:
    """What Kernel Tuner's strategies found."""
    budget, made = evaluations(table.replay(), BUDGET), []
    for method, runs in others.get(name, {}).items():
        runs = [[us if us is not None else math.inf for us in r] for r in runs]
        made.append(row(name, kind, table, f"Kernel Tuner {method}", runs, budget))
    return made


# ---- the policy


def lessons(found: dict, folder: Path) -> dict[str, Lesson]:
    """Of the problems that have features; those are computed once, and kept beside the tables."""
    made = {}
    for name, (kind, make) in problems().items():
        if not kind.startswith("generated"):
            continue
        file, table = folder / f"{name}.features", found[name][1]
        keys = [*table.times, *table.failed]
        if not file.exists():
            problem = make()
            file.write_text(json.dumps([problem.features(problem.point(k)) for k in keys]))
        made[name] = Lesson(table, json.loads(file.read_text()), keys)
    return made


def learnt(known: dict[str, Lesson], name: str, seed: int, long: bool) -> Policy:
    """A policy that has seen all problems but one."""
    others = [one for other, one in known.items() if other != name]
    room = sum(evaluations(one.table.replay(), BUDGET) for one in others)
    policy = Policy(seed)
    for _ in range(LONG):
        if not long and policy.spent >= room:
            break
        policy.learn(others, 1)
    return policy


def policies(found: dict, folder: Path) -> list[dict]:
    made, known = [], lessons(found, folder)
    for name, (kind, table) in found.items():
        budget = evaluations(table.replay(), BUDGET)
        made.append(row(name, kind, table, "REINFORCE", [by_policy(table, budget, s) for s in range(SEEDS)], budget))
        for long in (False, True) if name in known else ():
            taught = [learnt(known, name, seed, long) for seed in range(SEEDS)]
            runs = [[table.times.get(k, math.inf) for k in p.order(known[name])[:budget]] for p in taught]
            method = "REINFORCE learnt, long" if long else "REINFORCE learnt"
            made.append(row(name, kind, table, method, runs, budget, statistics.fmean(p.spent for p in taught)))
        print(*list(made[-1].values())[6:], name, flush=True)
    return made


def in_order(rows: list[dict]) -> list[dict]:
    """By problem, the small ones first, and by method."""
    methods = list(dict.fromkeys(r["method"] for r in rows))
    return sorted(rows, key=lambda r: (int(r["candidates"]), r["problem"], methods.index(r["method"])))


def kept(found: dict) -> list[dict]:
    """The rows of the other methods, where the table still has the problem as it is."""
    rows = [r for r in csv.DictReader(OUT.open(encoding="utf-8")) if not r["method"].startswith("REINFORCE")]
    for r in rows:
        r.setdefault("learning", "0")
        table = found[r["problem"]][1]
        if (int(r["candidates"]), r["least_us"]) != (table.evaluations, f"{table.least:.3f}"):
            raise SystemExit(f"{r['problem']} is another problem now: run the trial without --policy")
    return rows


def tested(rows: list[dict], method: str, other: str = "random") -> str:
    """Wilcoxon's signed-rank test over the problems that both have."""
    from scipy.stats import wilcoxon

    of = {(r["problem"], r["method"]): math.log(float(r["ratio_mean"])) for r in rows}
    pairs = [(of[p, method], of[p, other]) for p, m in of if m == method and (p, other) in of]
    worse = sum(a > b for a, b in pairs)
    chance = wilcoxon([a - b for a, b in pairs], alternative="less").pvalue if any(a != b for a, b in pairs) else 1.0
    means = [math.exp(statistics.fmean(x)) for x in zip(*pairs)]
    return (
        f"{method} against {other}: {means[0]:.3f} to {means[1]:.3f} on the average of {len(pairs)} problems, "
        f"behind in {worse}; p = {chance:.1e}"
    )


def searched(found: dict, given) -> list[dict]:
    """The rows of all methods but the policy."""
    others = given.tables / "kernel_tuner" / "found.json"
    if given.kernel_tuner:
        budgets = {name: evaluations(table.replay(), BUDGET) for name, (_, table) in found.items()}
        asked = json.dumps({"budgets": budgets, "seeds": 10})
        subprocess.run([given.kernel_tuner, HERE / "tuning_kernel_tuner.py", given.tables, asked], check=True)
    theirs = json.loads(others.read_text()) if others.exists() else {}
    rows = []
    for name, (kind, table) in found.items():
        file = given.tables / f"{name}.judged.json"  # a trial that was interrupted goes on
        if not file.exists():
            file.write_text(json.dumps(judged(name, kind, table)))
        rows += json.loads(file.read_text()) + foreign(name, kind, table, theirs)
    return rows


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tables", type=Path, default=HERE.parent / "run" / "tuning", help="Where the tables are kept.")
    ask.add_argument("--kernel-tuner", metavar="PYTHON", help="Its strategies on the same tables, kept beside them.")
    ask.add_argument("--policy", action="store_true", help="The policy alone; what the table has of others stays.")
    ask.add_argument("--write", action="store_true", help="Write data/tuning.csv.")
    given = ask.parse_args()
    found = tables(given.tables)
    if given.policy:
        rows = in_order(kept(found) + policies(found, given.tables))
    else:
        rows = in_order(searched(found, given) + policies(found, given.tables))
    if given.write:
        with open(OUT, "w", newline="", encoding="utf-8") as file:
            made = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            made.writeheader()
            made.writerows(rows)
    for method in dict.fromkeys(r["method"] for r in rows):
        if method not in ("random", "exhaustive"):
            print(tested(rows, method))
    ours = [r for r in rows if r["method"] == "labkit tune"]
    print(
        f"within {NEAR} on the average of the seeds: {sum(float(r['ratio_mean']) <= NEAR for r in ours)} of {len(ours)}"
    )
    print(f"within {NEAR} for every seed: {sum(float(r['ratio_worst']) <= NEAR for r in ours)} of {len(ours)}")


if __name__ == "__main__":
    sys.exit(main())
