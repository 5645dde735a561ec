"""What a scaling curve follows: Amdahl's law and the Universal Scalability Law, fitted by scipy.

    rate(n) = n * rate(1) / (1 + contention * (n - 1) + coherence * n * (n - 1))

contention: the share of the work that waits in a queue for something there is one of (Amdahl's serial share).
coherence: what each pair of workers costs (Gunther). With coherence 0 it is Amdahl's law, and the rate never falls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from labkit import messages

_NONE = 1e-6  # a coherence below this is none: the curve would fall behind a thousand workers


@dataclass(frozen=True)
class Fit:
    """one: rate of one worker. off: the largest distance of a point from the curve, as a share of the point."""

    one: float
    contention: float
    coherence: float
    off: float

    def rate(self, n):
        return usl(np.asarray(n, dtype=float), self.one, self.contention, self.coherence)

    @property
    def peak(self) -> float:
        """With how many workers the rate is highest; infinite where it never falls."""
        if self.coherence < _NONE or self.contention >= 1:
            return math.inf if self.coherence < _NONE else 1.0
        return math.sqrt((1 - self.contention) / self.coherence)

    @property
    def ceiling(self) -> float:
        """The rate that no number of workers exceeds; infinite where nothing is shared."""
        if self.peak != math.inf:
            return float(self.rate(max(self.peak, 1.0)))
        return self.one / self.contention if self.contention > _NONE else math.inf


def usl(n, one: float, contention: float, coherence: float):
    return n * one / (1 + contention * (n - 1) + coherence * n * (n - 1))


def fit(counts, rates, coherence: bool = True) -> Fit:
    """Least squares of the relative distances; contention lies in [0, 1]. coherence=False: Amdahl's law.
    Raises ValueError for fewer points than the law has unknowns, or rates that are not positive."""
    n, rate = np.asarray(counts, dtype=float), np.asarray(rates, dtype=float)
    unknowns = 3 if coherence else 2
    if n.shape != rate.shape or len(np.unique(n)) < unknowns or not (n >= 1).all() or not (rate > 0).all():
        raise ValueError(messages.text("bench.fit", least=unknowns))
    scale = float(np.max(rate / n))

    def distance(x):
        return usl(n, x[0] * scale, x[1], x[2] if coherence else 0.0) / rate - 1

    tries = [
        optimize.least_squares(distance, [1.0, a, *([b] if coherence else [])], bounds=(0, [2.0, 1.0, 1.0][:unknowns]))
        for a, b in ((0.05, 1e-3), (0.5, 1e-2), (0.9, 1e-4))
    ]
    best = min(tries, key=lambda found: found.cost)
    one, contention, *rest = (float(v) for v in best.x)
    return Fit(one * scale, contention, rest[0] if rest else 0.0, float(np.abs(distance(best.x)).max()))
