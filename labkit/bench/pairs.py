"""Is one faster than the other? Two functions measured in pairs, and what their ratio says.

A pair is taken in a moment, so what disturbs the machine disturbs both; which of the two comes first is drawn anew for
each pair. The verdict needs two things: the interval of the ratio lies on one side of 1, and the difference is large
enough to matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from labkit import messages
from labkit.bench import statistics
from labkit.bench.statistics import Interval
from labkit.bench.timing import ROUND, Measurement, Timer, samples_for, warm_up

CONFIDENCE = 0.99  # of the ratio's interval: one false alarm in a hundred comparisons of a thing with itself
MATTERS = 0.005  # a difference below half a percent is called none, however sure
PAIRS, MOST = 300, 3000
AIM = 0.005  # half the interval of the ratio


@dataclass
class Comparison:
    """ratio: the time of b over that of a, the median of the pairs, with its interval. chance: of so clear a difference
    between two equal programs (Wilcoxon's signed ranks). verdict: "slower" (b), "faster" or "same"."""

    a: str
    b: str
    ratio: Interval
    chance: float
    verdict: str
    pairs: int
    time_kind: str

    def __repr__(self) -> str:
        return messages.text(
            f"bench.compare.{self.verdict}",
            a=self.a,
            b=self.b,
            percent=f"{abs(self.ratio.value - 1) * 100:.2f}",
            low=f"{self.ratio.low:.4f}",
            high=f"{self.ratio.high:.4f}",
            pairs=self.pairs,
            kind=messages.text(f"bench.{self.time_kind}"),
        )


def compare(
    a: Callable[[], object],
    b: Callable[[], object],
    *,
    names: tuple[str, str] = ("a", "b"),
    cache: str = "cold",
    seed: int = 0,
    pairs: int = PAIRS,
    most: int = MOST,
) -> Comparison:
    """Measures both in pairs: at least `pairs` of them, more where the warm-up is restless, at most `most`."""
    timer = Timer(cache)
    draw = np.random.default_rng(seed)
    # a ratio spreads as its two parts together
    needed = sum(samples_for(warm_up(timer, function), AIM, CONFIDENCE) for function in (a, b))
    count = min(most, max(pairs, needed))
    rows: list[list[float]] = []
    while len(rows) < count:
        orders = [draw.permutation(2) for _ in range(ROUND)]
        rows += timer.rounds([a, b], ROUND, orders)
    return judge(np.array(rows), names, timer.kind)


def judge(rows, names: tuple[str, str] = ("a", "b"), time_kind: str = "measured") -> Comparison:
    """The verdict on pairs that were taken already: an array [pairs, 2] of times of a and b."""
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 2 or len(rows) < statistics._LEAST:
        raise ValueError(messages.text("bench.pairs", shape=str(list(rows.shape)), least=statistics._LEAST))
    for name, times in zip(names, rows.T):
        if not (times > 0).all():  # modelled time stands still where nothing is launched
            raise ValueError(
                messages.text("bench.pairs.none", name=name, count=int((~(times > 0)).sum()), of=len(rows))
            )
    ratio, logs = _ratio(rows), np.log(rows[:, 1] / rows[:, 0])
    chance = 1.0 if not np.any(logs) else float(stats.wilcoxon(logs).pvalue)
    sure = chance < 1 - CONFIDENCE and not ratio.low <= 1 <= ratio.high
    if not sure or abs(ratio.value - 1) < MATTERS:
        verdict = "same"
    else:
        verdict = "slower" if ratio.value > 1 else "faster"
    return Comparison(*names, ratio, chance, verdict, len(rows), time_kind)


def _ratio(rows: np.ndarray) -> Interval:
    return statistics.percentile(rows[:, 1] / rows[:, 0], 50, CONFIDENCE)


def against(old: Measurement, new: Measurement) -> Comparison:
    """Two measurements of different runs, which have no pairs: the ratio of their medians with its bootstrap interval,
    and Mann-Whitney's test. A change of the machine between the runs counts as one of the program: prefer compare()."""
    draw = np.random.default_rng(0)
    medians = [np.median(draw.choice(m.samples, (2000, len(m.samples))), axis=1) for m in (old, new)]
    ratios = medians[1] / medians[0]
    tail = 50 * (1 - CONFIDENCE)
    value = float(np.median(new.samples) / np.median(old.samples))
    ratio = Interval(value, float(np.percentile(ratios, tail)), float(np.percentile(ratios, 100 - tail)))
    same = np.array_equal(old.samples, new.samples)
    chance = 1.0 if same else float(stats.mannwhitneyu(old.samples, new.samples).pvalue)
    sure = chance < 1 - CONFIDENCE and not ratio.low <= 1 <= ratio.high and abs(value - 1) >= MATTERS
    verdict = "same" if not sure else "slower" if value > 1 else "faster"
    return Comparison(old.name, new.name, ratio, chance, verdict, len(new.samples), new.time_kind)
