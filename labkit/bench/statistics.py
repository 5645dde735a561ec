"""What samples say: from where on they are steady, their percentiles with intervals, what lies outside, a drift.

Times in any unit. Everything is drawn by a seed, so that the same samples give the same answer. Statistics are
scipy's; what is ours is the choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
_RESAMPLES = 2000
_LEAST = 8  # samples on either side of a change
_SIGNIFICANT = 1e-3  # a change point is looked for at every place: only a clear one counts
_SMALL = 0.005  # and only one that moves the median by half a percent
MAD = 1.4826  # makes the median deviation of normal samples their standard deviation
_FAR = 6.0  # deviations from the median: 1 in 500 million of normal samples


@dataclass(frozen=True)
class Interval:
    """An estimate, and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the interval's width as a share of the estimate."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


def deviations(confidence: float) -> float:
    """Half the width of an interval, in standard deviations of a normal estimate."""
    return float(stats.norm.ppf((1 + confidence) / 2))


def percentile(samples, q: float, confidence: float = CONFIDENCE) -> Interval:
    """The q-th percentile, with the interval of order statistics: how many of n samples lie below the true percentile
    is binomial, whatever the distribution of the samples. Ends between two samples are interpolated, so that the
    interval is as wide as asked for and not a rank wider. With too few samples for a tail the end is the extreme one.

    Raises ValueError without samples.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    if not len(values):
        raise ValueError("no samples: nothing was measured")
    n, p, tail = len(values), q / 100, (1 - confidence) / 2
    below = np.concatenate([[0.0], stats.binom.cdf(np.arange(n), n, p)])  # chance that fewer than k lie below it
    low = np.interp(tail, below, np.arange(n + 1)) - 1
    high = np.interp(1 - tail, below, np.arange(n + 1))
    ranks = np.clip([low, high], 0, n - 1)
    ends = np.interp(ranks, np.arange(n), values)
    return Interval(float(np.percentile(values, q)), float(ends[0]), float(ends[1]))


def interval(samples, statistic=np.mean, confidence: float = CONFIDENCE, seed: int = 0) -> Interval:
    """Any statistic of the samples with its bootstrap interval (scipy.stats.bootstrap, BCa; percentile where BCa is
    not defined, as for samples that are all the same)."""
    values = np.asarray(samples, dtype=float)
    if not len(values):
        raise ValueError("no samples: nothing was measured")
    value = float(statistic(values))
    if len(values) < 2 or np.ptp(values) == 0:
        return Interval(value, value, value)
    made = stats.bootstrap(
        (values,),
        statistic,
        confidence_level=confidence,
        n_resamples=_RESAMPLES,
        vectorized=False,
        method="BCa" if len(values) >= _LEAST else "percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    low, high = (float(x) if np.isfinite(x) else value for x in made)
    return Interval(value, min(low, value), max(high, value))


def change_point(samples) -> tuple[int, float] | None:
    """(place, ratio of the medians behind it and before it) of the clearest change of level; None where there is none.

    The place is where a rank test (Mann-Whitney) separates the two sides best. It counts where the chance of such a
    separation, looked for at all places, is below one in a thousand, and the median moves by half a percent or more.
    """
    values = np.asarray(samples, dtype=float)
    n = len(values)
    if n < 2 * _LEAST or np.ptp(values) == 0:
        return None
    ranks = stats.rankdata(values)
    before = np.cumsum(ranks)[:-1]
    k = np.arange(1, n)
    u = before - k * (k + 1) / 2
    # the variance of ranks with ties
    spread = np.sqrt(k * (n - k) / 12 * (n + 1) * (1 - _ties(ranks)))
    z = np.abs(u - k * (n - k) / 2) / np.maximum(spread, 1e-12)
    z[: _LEAST - 1] = z[n - _LEAST :] = 0
    place = int(np.argmax(z)) + 1
    chance = min(1.0, 2 * stats.norm.sf(z[place - 1]) * n)
    first, second = np.median(values[:place]), np.median(values[place:])
    if chance > _SIGNIFICANT or not first or abs(second / first - 1) < _SMALL:
        return None
    return place, float(second / first)


def _ties(ranks: np.ndarray) -> float:
    n = len(ranks)
    counts = np.unique(ranks, return_counts=True)[1].astype(float)
    return float((counts**3 - counts).sum() / (n**3 - n))


def steady_from(samples) -> int:
    """The first sample of the steady state: behind the last change of level, in the samples as they came.

    A few slow samples at the begin (compilation, an allocator that grows) are too few for a test of ranks; they are
    left out where they lie far outside of what follows.
    """
    values = np.asarray(samples, dtype=float)
    at = 0
    for _ in range(8):  # changes of level, one behind the other; more than a handful is a drift
        found = change_point(values[at:])
        if found is None:
            break
        at += found[0]
    while len(values) - at > 2 * _LEAST and _is_far(values[at], values[at + 1 :]):
        at += 1
    return at


def _is_far(value: float, others: np.ndarray) -> bool:
    middle = np.median(others)
    deviation = MAD * np.median(np.abs(others - middle))
    return abs(value - middle) > max(_FAR * deviation, _SMALL * abs(middle))


def outliers(samples) -> np.ndarray:
    """The places of samples far from the median: more than six deviations, by the median deviation, and half a percent.
    They are reported, never dropped."""
    values = np.asarray(samples, dtype=float)
    if len(values) < _LEAST:
        return np.array([], dtype=int)
    middle = np.median(values)
    deviation = MAD * np.median(np.abs(values - middle))
    return np.flatnonzero(np.abs(values - middle) > max(_FAR * deviation, _SMALL * abs(middle)))


def drift(samples) -> tuple[float, float]:
    """(change, chance): by which share the level moves from the first to the last sample, by the median of all slopes
    (Theil-Sen), and the chance that samples without a trend would rank so (Kendall)."""
    values = np.asarray(samples, dtype=float)
    if len(values) < 2 * _LEAST or np.ptp(values) == 0:
        return 0.0, 1.0
    if len(values) > 500:  # all pairs of thousands of samples take seconds; every k-th tells the same
        values = values[:: len(values) // 500 + 1]
    x = np.arange(len(values))
    slope = stats.theilslopes(values, x).slope
    chance = stats.kendalltau(x, values).pvalue
    return float(slope * (len(values) - 1) / np.median(values)), float(chance)
