"""Kernel Tuner's strategies on the tables of scripts/tuning_trial.py; run by it with a Python that has kernel-tuner.

    python scripts/tuning_kernel_tuner.py TABLES '{"budgets": {"swiglu": 19}, "seeds": 10}'

Tested with kernel-tuner 1.5.0. Its simulation mode reads a cache instead of launching; the order in which a strategy
asks for candidates, each once, is what counts. A candidate that is impossible is no member of its space.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

STRATEGIES = ("genetic_algorithm", "simulated_annealing", "greedy_ils")


def asked(table: dict, strategy: str, budget: int, seed: int, folder: Path) -> list[float | None]:
    """Times in the order of the strategy's first requests; None for a candidate that failed."""
    import numpy
    from constraint import FunctionConstraint
    from kernel_tuner import tune_kernel

    values = list(table["parameters"].values())
    names = [f"p{i}" for i in range(len(values))]  # it reads names as Python and values as numbers

    def key_of(row: list) -> tuple:
        return tuple(v.index(x) for v, x in zip(values, row))

    rows = {key_of(r[:-1]): r[-1] for r in table["times"]}
    failed = {key_of(r[:-1]) for r in table["failed"]}
    space = {n: list(range(len(v))) for n, v in zip(names, values)}
    cache = {
        ",".join(map(str, key)): dict(
            zip(names, key), time=rows.get(key, "RuntimeFailedConfig"), times=[rows.get(key, 0.0)], compile_time=0,
            verification_time=0, benchmark_time=0, strategy_time=0, framework_time=0, GFLOP=0, timestamp="2026-01-01",
        )
        for key in [*rows, *failed]
    }  # fmt: skip
    told = {
        "device_name": "twin", "kernel_name": table["name"], "problem_size": 1, "tune_params_keys": names,
        "tune_params": space, "objective": "time", "cache": cache,
    }  # fmt: skip
    file = folder / f"{table['name']}.cache.json"
    file.write_text(json.dumps(told))
    random.seed(seed)
    numpy.random.seed(seed)
    there = set(cache)
    made, _ = tune_kernel(
        table["name"], "// simulated", 1, [], space, strategy=strategy, simulation_mode=True,
        cache=str(file), lang="C", quiet=True, objective="time",
        restrictions=[FunctionConstraint(lambda *values: ",".join(map(str, values)) in there)],
        strategy_options={"max_fevals": budget},
    )  # fmt: skip
    found = {}
    for entry in made:
        key = tuple(entry[n] for n in names)
        found.setdefault(key, rows.get(key))
    return list(found.values())[:budget]


def main(folder: Path, budgets: dict[str, int], seeds: int) -> None:
    out = folder / "kernel_tuner"
    out.mkdir(exist_ok=True)
    found: dict[str, dict] = {}
    for name, budget in budgets.items():
        table = json.loads((folder / f"{name}.json").read_text())
        found[name] = {s: [asked(table, s, budget, seed, out) for seed in range(seeds)] for s in STRATEGIES}
        print(name, {s: [len(r) for r in runs] for s, runs in found[name].items()}, flush=True)
    (out / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), **json.loads(sys.argv[2]))
