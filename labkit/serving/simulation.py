"""The server under load, without its model: the scheduler and the caches of the engine, on the times of StepTimes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from labkit import messages
from labkit.serving.batching import Scheduler
from labkit.serving.input_cache import InputCache
from labkit.serving.settings import PIECES, PIECES_AHEAD, PIECES_RECORDED, Cost, Request, Settings
from labkit.serving.step_times import StepTimes

ISSUE_US = 6.6  # host time until a step's inputs are on their way: one copy's issue, and the calls around it


def percentile(values: list[float], share: float) -> float:
    """The smallest value that `share` of them do not exceed; NaN of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered), max(1, math.ceil(share * len(ordered)))) - 1] if ordered else math.nan


@dataclass
class Result:
    """What a load found. Times in milliseconds of the virtual clock, modelled."""

    requests: list[Request]
    end_us: float
    busy_us: float  # the server worked
    copy_us: float  # it waited for copies over the link
    launches: float
    steps: int
    rows: float  # of all decode steps together
    decodes: int
    in_system_us: float  # the requests' number over time, integrated
    hit_share: float
    gaps_ms: list[float] = field(default_factory=list, repr=False)  # between two tokens of an answer

    @property
    def latencies_ms(self) -> list[float]:
        return [(r.done_us - r.arrival_us) / 1e3 for r in self.requests]

    @property
    def ttft_ms(self) -> list[float]:
        """Times to the first token."""
        return [(r.first_us - r.arrival_us) / 1e3 for r in self.requests]

    @property
    def tpot_ms(self) -> list[float]:
        """Mean times from one token of an answer to the next."""
        return [(r.done_us - r.first_us) / 1e3 / (r.answer - 1) for r in self.requests if r.answer > 1]

    def p(self, percent: float) -> float:
        return percentile(self.latencies_ms, percent / 100)

    @property
    def mean_ms(self) -> float:
        return sum(self.latencies_ms) / len(self.requests)

    @property
    def qps(self) -> float:
        return len(self.requests) / self.end_us * 1e6

    @property
    def tokens(self) -> int:
        return sum(r.answer for r in self.requests)

    @property
    def utilisation(self) -> float:
        return self.busy_us / self.end_us

    @property
    def copy_share(self) -> float:
        """Of the time in which the server worked."""
        return self.copy_us / self.busy_us

    @property
    def launches_per_token(self) -> float:
        return self.launches / self.tokens

    @property
    def mean_batch(self) -> float:
        return self.rows / max(1, self.decodes)

    @property
    def in_system(self) -> float:
        """Requests that were there, waiting or served, on average over time."""
        return self.in_system_us / self.end_us

    def numbers(self) -> dict[str, float]:
        """What a table shows of it."""
        return {
            "qps": self.qps,
            "mean_ms": self.mean_ms,
            "p50_ms": self.p(50),
            "p90_ms": self.p(90),
            "p99_ms": self.p(99),
            "ttft_p99_ms": percentile(self.ttft_ms, 0.99),
            "tpot_ms": sum(self.tpot_ms) / max(1, len(self.tpot_ms)),
            "copy_share": self.copy_share,
            "launches_per_token": self.launches_per_token,
            "utilisation": self.utilisation,
            "batch": self.mean_batch,
        }

    def __str__(self) -> str:
        n = self.numbers()
        return messages.text(
            "serving.result", count=len(self.requests), qps=f"{n['qps']:.0f}", p50=f"{n['p50_ms']:.1f}",
            p99=f"{n['p99_ms']:.1f}", ttft=f"{n['ttft_p99_ms']:.1f}", tpot=f"{n['tpot_ms']:.2f}",
            copy=f"{100 * n['copy_share']:.0f}", launches=f"{n['launches_per_token']:.1f}",
        )  # fmt: skip


class _Sent:
    """Features on their way."""

    def __init__(self):
        self.pieces, self.ready = 0, math.inf


class _Features:
    """Which features are on the device, and when those that are on their way will be. Copies over the link take turns:
    a step's own inputs wait for features that were sent for before."""

    def __init__(self, settings: Settings, times: StepTimes):
        self.s = settings
        self.cache = InputCache(settings.cached_inputs if settings.input_cache else 0)
        self.fetch = times.fetch(settings)
        self.link_free = 0.0
        self.sent: dict[int, _Sent] = {}

    def here(self, request: Request, now: float) -> bool:
        if request.features is None or not self.s.pinned:
            return True
        sent = self.sent.get(request.id)
        return sent is not None and sent.ready <= now

    def complete(self, request: Request) -> bool:
        """Whether all of them were sent, or none are wanted."""
        return request.features is None or (request.id in self.sent and self.sent[request.id].pieces == PIECES)

    def ready(self, request: Request) -> float:
        return 0.0 if request.features is None else self.sent[request.id].ready

    def bring(self, request: Request) -> Cost:
        """In a step of its own, where nothing was sent ahead; what that takes."""
        if self.s.input_cache and self.cache.get(request.features) is not None:
            return Cost(0.0)
        if self.s.input_cache:
            self.cache.put(request.features, 0.0)
        return self.fetch

    def ahead(self, waiting, now: float, pieces: int = PIECES_AHEAD) -> float:
        """Sends for features as the engine does, at this time; what the host spends on it."""
        spent = 0.0
        for request in islice(waiting, self.s.batch):
            if request.features is None:
                continue
            sent = self.sent.get(request.id)
            if sent is None:
                sent = self.cache.get(request.features) if self.s.input_cache else None
                if sent is None:
                    sent = _Sent()
                    if self.s.input_cache:
                        self.cache.put(request.features, sent)
                self.sent[request.id] = sent
            while sent.pieces < PIECES:
                if not pieces:
                    return spent
                spent += self.fetch.us
                self.link_free = max(self.link_free, now + spent) + self.fetch.copy_us
                sent.pieces, pieces = sent.pieces + 1, pieces - 1
                if sent.pieces == PIECES:
                    sent.ready = self.link_free
        return spent

    def step(self, cost: Cost, waiting, now: float, recorded: bool = False) -> float:
        """What a step of that cost takes from now on, when features are sent for behind its own inputs."""
        if not self.s.pinned:
            return cost.us
        wait = max(0.0, self.link_free - now)
        us = max(cost.us, wait + cost.copy_us + cost.device_us)
        spent = self.ahead(waiting, now + ISSUE_US, PIECES_RECORDED if recorded else PIECES_AHEAD)
        return us if recorded else us + spent  # of a recorded step the host has issued all by then


def simulate(
    settings: Settings, requests: list[Request], times: StepTimes | None = None, stop_at_ms: float | None = None
) -> Result:
    """Runs the load until its last request is answered. stop_at_ms: gives up (Result with infinite latencies) once so
    many requests exceed that latency that its 99th percentile must. Raises ValueError without requests.
    """
    if not requests:
        raise ValueError(messages.text("serving.no_requests"))
    times = times or StepTimes.load()
    requests = [r.fresh() for r in requests]
    plan, features = Scheduler(settings), _Features(settings, times)
    insert = times.insert(settings)
    now = busy = copied = launches = rows = 0.0
    steps = decodes = late = 0
    coming, count = 0, len(requests)
    last_token: dict[int, float] = {}
    gaps: list[float] = []
    done = 0
    area = 0.0  # each request adds the time that it was there

    def here(request: Request) -> bool:
        return features.here(request, now)

    def token(request: Request) -> None:
        nonlocal done, late, area
        request.count += 1
        if request.count == 1:
            request.first_us = now
        else:
            gaps.append((now - last_token[request.id]) / 1e3)
        last_token[request.id] = now
        if request.count == request.answer:
            request.done_us = now
            done += 1
            area += now - request.arrival_us
            late += stop_at_ms is not None and (now - request.arrival_us) / 1e3 > stop_at_ms

    while done < count:
        if stop_at_ms is not None and late > 0.01 * count:
            break
        while coming < count and requests[coming].arrival_us <= now:
            plan.submit(requests[coming])
            coming += 1
        start = now
        chunks = plan.prefill(here)
        if chunks:
            width = max(c.count for c in chunks)
            parts = [times.prefill(settings, len(chunks), width, max(c.begin + c.count for c in chunks))]
            for request, begin, _ in chunks:
                if begin == 0 and request.features is not None:
                    parts += [insert] if settings.pinned else [insert, features.bring(request)]
            cost = Cost(*(sum(values) for values in zip(*parts)))
            now += features.step(cost, plan.waiting, now)
            copied, launches, steps = copied + cost.copy_us, launches + cost.launches, steps + 1
            for request in plan.read(chunks):
                token(request)
            plan.retire()
        running = plan.decode()
        if running:
            cost = times.decode(settings, len(running), max(r.length for r in running))
            now += features.step(cost, plan.waiting, now, settings.graph)
            copied, launches, steps = copied + cost.copy_us, launches + cost.launches, steps + 1
            rows, decodes = rows + len(running), decodes + 1
            for request in running:
                if request.count < request.answer:
                    token(request)
            plan.retire()
        if now == start and settings.pinned and plan.waiting and not features.complete(plan.waiting[0]):
            now += features.ahead(plan.waiting, now)
        busy += now - start
        if now == start:  # nothing to do: until the next request comes, or the first one's features are there
            due = [requests[coming].arrival_us] if coming < count else []
            if plan.waiting and features.complete(plan.waiting[0]):
                due.append(max(now, features.ready(plan.waiting[0])))
            if due:
                now = min(due)
    if done < count:
        for request in requests:
            request.first_us = request.done_us = math.inf
    return Result(
        requests, now, busy, copied, launches, steps, rows, decodes, area, features.cache.hit_share, gaps
    )  # fmt: skip


def highest_load(
    settings: Settings,
    limit_ms: float,
    traffic: Callable[[float], list[Request]],
    times: StepTimes | None = None,
    percent: float = 99,
    within: float = 0.01,
) -> tuple[float, Result]:
    """(requests a second, its Result): the most at which the percentile of the latencies stays within the limit, to
    one percent. traffic(rate) gives the requests. (0, Result) where not even a trickle does.
    """

    def tried(rate: float) -> Result:
        return simulate(settings, traffic(rate), times, stop_at_ms=limit_ms if percent == 99 else None)

    low, high, best = 0.0, 50.0, None
    while (found := tried(high)).p(percent) <= limit_ms:
        low, high, best = high, high * 2, found
        if high > 1e6:
            raise ValueError(messages.text("serving.no_limit", limit=limit_ms))
    if best is None:
        low, best = 1.0, tried(1.0)
        if best.p(percent) > limit_ms:
            return 0.0, best
    while high / low > 1 + within:
        middle = math.sqrt(low * high)
        found = tried(middle)
        if found.p(percent) <= limit_ms:
            low, best = middle, found
        else:
            high = middle
    return low, best
