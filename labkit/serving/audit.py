"""What each step gives, alone and together; and a published claim, held against it.

The claim (from the course material that this lab replaces): P99 from 500 to 150 ms and 40 % more requests a second, by
pinned memory and two streams, a cache of inputs, a pool for the KV cache, continuous batching and a fused attention.
"""

from __future__ import annotations

from labkit.serving.load import poisson
from labkit.serving.settings import NAIVE, STEPS, Settings, ladder
from labkit.serving.simulation import Result, highest_load, simulate
from labkit.serving.step_times import StepTimes

LIMIT_MS = 100.0  # on the 99th percentile of the latency
COUNT = 10_000
COLUMNS = (
    "kind", "step", "qps", "times_naive", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "ttft_p99_ms", "tpot_ms",
    "copy_share",
    "launches_per_token", "utilisation", "batch",
)  # fmt: skip
CLAIM_FROM_MS, CLAIM_TO_MS, CLAIM_QPS = 500.0, 150.0, 1.40


def ways() -> list[tuple[str, str, Settings]]:
    """(kind, step, settings): the naive server, each step alone, one after the other, and all but one."""
    steps = ladder()
    every = steps[-1][1]
    made = [("naive", "naive", NAIVE)]
    made += [("alone", step, NAIVE.with_(**{step: True})) for step in STEPS]
    made += [("together", step, settings) for step, settings in steps[1:]]
    made += [("all but", step, every.with_(**{step: False})) for step in STEPS if step != "graph"]
    return made


def steps_table(count: int = COUNT, limit_ms: float = LIMIT_MS, seed: int = 0, times: StepTimes | None = None):
    """A row by COLUMNS of each of ways(), at the highest load that holds the limit."""
    rows, naive = [], 0.0
    for kind, step, settings in ways():
        rate, result = highest_load(settings, limit_ms, lambda r: poisson(r, count, seed=seed), times)
        naive = naive or rate
        numbers = result.numbers() | {"qps": rate}
        values = {name: round(value, 3 if value < 10 else 1) for name, value in numbers.items()}
        rows.append({"kind": kind, "step": step, "times_naive": round(rate / naive, 2)} | values)
    return rows


def claim(count: int = COUNT, seed: int = 0, times: StepTimes | None = None) -> list[tuple[str, float, Result]]:
    """(step, requests a second, Result): the naive server at the load at which its P99 is what the claim begins with,
    then each step more at 1.4 times that load."""
    traffic = lambda rate: poisson(rate, count, seed=seed)  # noqa: E731
    rate, result = highest_load(NAIVE, CLAIM_FROM_MS, traffic, times)
    found = [("naive", rate, result)]
    for step, settings in ladder():
        found.append((step, CLAIM_QPS * rate, simulate(settings, traffic(CLAIM_QPS * rate), times)))
    return found
