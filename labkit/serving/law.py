"""The laws of queues that say what a step must give, each checked against the simulation in tests/serving."""

from __future__ import annotations

import math

from labkit.serving.load import Workload
from labkit.serving.settings import Settings
from labkit.serving.step_times import StepTimes


def little(rate: float, mean_time: float) -> float:
    """Little's law: how many requests are there on average, where `rate` a second arrive and each stays `mean_time`
    seconds. It holds for every queue that does not grow for ever."""
    return rate * mean_time


def waiting(rate: float, mean: float, second_moment: float) -> float:
    """Pollaczek and Khinchine: the mean wait in front of one server with Poisson arrivals (M/G/1), in the unit of the
    service times. Infinite where more comes than it can do. M/D/1 is the case second_moment = mean ** 2."""
    utilisation = rate * mean
    return math.inf if utilisation >= 1 else rate * second_moment / (2 * (1 - utilisation))


def mean_of_longest(values: list[int], rows: int) -> float:
    """The mean of the longest of `rows` values that are drawn from those: how many steps a static batch takes."""
    ordered, n = sorted(values), len(values)
    return sum(v * (((i + 1) / n) ** rows - (i / n) ** rows) for i, v in enumerate(ordered))


def service_us(settings: Settings, requests, times: StepTimes | None = None) -> list[float]:
    """What each request would take alone on the device, from its first step to its last."""
    times = times or StepTimes.load()
    insert, fetch = times.insert(settings).us, times.fetch(settings).us
    found = []
    for r in requests:
        us = times.prefill(settings, 1, r.prompt, r.prompt).us
        us += (insert + (0 if settings.pinned else fetch)) if r.features is not None else 0
        found.append(us + sum(times.decode(settings, 1, r.prompt + i).us for i in range(1, r.answer)))
    return found


def capacity(settings: Settings, workload: Workload, requests, batch: int, hits: float = 0.0,
             times: StepTimes | None = None) -> float:  # fmt: skip
    """Requests a second that a server answers which is never idle: `batch` of them share each step. hits: the share of
    features that are on the device already. A static batch takes as many steps as its longest answer."""
    times = times or StepTimes.load()
    prompts = sorted(r.prompt for r in requests)
    answers = [r.answer for r in requests]
    span = sum(prompts) / len(prompts) + sum(answers) / len(answers)
    step = times.decode(settings, batch, int(span)).us
    fetch = 0.0 if settings.pinned else times.fetch(settings).us * (1 - hits)
    each = workload.with_features * (times.insert(settings).us + fetch)
    if settings.continuous:
        # while a request makes its answer, `batch` others come in, in groups of those that a step admits, or one in
        # several steps; the first token comes from the prompt
        joining = batch / (sum(max(1, n - 1) for n in answers) / len(answers))
        group = max(1, round(joining))
        width = int(mean_of_longest(prompts, group))
        read = joining / group * times.prefill(settings, group, width, width).us + joining * each
        return joining / (read + step) * 1e6
    rows = min(batch, max(1, settings.prefill_tokens // int(mean_of_longest(prompts, batch))))
    width = int(mean_of_longest(prompts, rows))
    read = math.ceil(batch / rows) * times.prefill(settings, rows, width, width).us + batch * each
    return batch / (read + (mean_of_longest(answers, batch) - 1) * step) * 1e6
