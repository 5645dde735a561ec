"""Cases of the exercises on benchmarks that lie, and on the gate in CI."""

from __future__ import annotations

import contextlib
import math
from unittest import mock

import numpy as np
import torch

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


# ---- 06.01: one wait


def wait_cases(seed, quick):
    made, draw = [], np.random.default_rng(seed)
    for count in (12, *([int(draw.integers(13, 60)), int(draw.integers(1100, 1400))] if seed else [])):
        expected = {
            say("samples", "样本数"): count,
            say("calls", "调用次数"): count,
            say("each sample is that call's time", "每个样本就是那次调用的时间"): True,
            say("waits before the last call", "最后一次调用之前的等待次数"): 0,
        }
        made.append(Case(f"{count} calls", (count,), expected))
    return made


def _off(samples, took):
    """How the samples are off by one and the same factor, else False."""
    if len(samples) == len(took) > 0:
        for factor, name in (
            (1e-3, say("a thousandth of it", "它的千分之一")),
            (1e-6, say("a millionth of it", "它的百万分之一")),
            (-1.0, say("that, but negative", "数值相同，但为负")),
            (-1e-3, say("a thousandth of it, negative", "它的千分之一，且为负")),
        ):
            if np.allclose(samples, [factor * us for us in took], 0.05, abs(factor) * 0.5):
                return name
    return False


@contextlib.contextmanager
def recorded():
    """A list into which the Session is put at the end."""
    from labkit.profiler.recorder import Recorder

    recorder, kept = Recorder(), []
    recorder.start()
    try:
        yield kept
    finally:
        kept.append(recorder.stop())


def run_wait(function, args, case):
    """The calls take 30, 31, ... us of the device: a sample must say so, whatever the host does."""
    from labkit import chips, device

    hertz = chips.flat(device.chip() or chips.DEFAULT)["clock.hz"]
    calls, drawn = [], np.random.default_rng(args[0]).permutation(np.arange(24.0, 72.0, 0.75))

    def work():
        calls.append(float(drawn[len(calls) % len(drawn)]))
        torch.npu._sleep(round(calls[-1] * 1e-6 * hertz))

    waits = []

    def counted(wait):
        def made(*arguments):
            waits.append(len(calls))
            return wait(*arguments)

        return made

    simulated = device.mode() != "npu"
    torch.npu._sleep(round(200e-6 * hertz))  # the device is busy at first, so that it never waits for the host
    before = device.clock().launches if simulated else 0
    with contextlib.ExitStack() as counting:
        for owner, name in (
            (torch.npu, "synchronize"),
            (torch.npu.Event, "synchronize"),
            (torch.npu.Event, "elapsed_time"),
            (torch.npu.Event, "query"),  # asked again and again it is a wait
            (torch.npu.Stream, "synchronize"),
            (torch.npu.Stream, "query"),
        ):
            counting.enter_context(mock.patch.object(owner, name, counted(getattr(owner, name))))
        session = counting.enter_context(recorded()) if simulated else None
        samples = [float(v) for v in function(work, *args)]
    took, room = calls, (0.05, 0.5)
    if simulated:  # the record has what each call took, under the notebook's noise too; 1024 for 1000 shows
        spans = device.timeline_since(before)
        sleeps = [at for at, span in enumerate(spans) if "sleep" in span.name]
        took, room = [spans[at].end_us - spans[at].start_us for at in sleeps], (0.01, 0.1)
        # every wait of the runtime, by whatever call it came: .item() and a copy of pageable memory wait as well
        last = max((task.issued for task in session[0].tasks if "sleep" in task.name), default=0)
        asked = ("aclrtSynchronize", "aclrtStreamQuery", "aclrtQueryEvent")
        early = [call for call in session[0].calls if call.name.startswith(asked) and call.start < last]
        waits = [0] * max(len(early), sum(n < len(calls) for n in waits))
    good = len(samples) == len(took) == len(calls) and np.allclose(samples, took, *room)
    return {
        say("samples", "样本数"): len(samples),
        say("calls", "调用次数"): len(calls),
        say("each sample is that call's time", "每个样本就是那次调用的时间"): bool(good) or _off(samples, took),
        say("waits before the last call", "最后一次调用之前的等待次数"): sum(n < len(calls) for n in waits),
    }


# ---- 06.01: what to report


def report_cases(seed, quick):
    draw = np.random.default_rng(seed)
    quiet = draw.normal(50, 1, 200)
    spiky = quiet.copy()
    spiky[::50] += 5000
    made = []
    rows = {
        "quiet": quiet,
        "four of 200 are slow": spiky,
        "one sample": np.array([3.0]),
        "whole microseconds, many alike": quiet.round(),
    }
    for most in (60, 2000, 40_000) if seed else ():  # of a class: from a nanosecond to hours, in any order
        count = int(draw.integers(most // 2, most))
        rows[f"{count} samples, from 1 ns to hours"] = 10 ** draw.uniform(-3, 10, count)
    for name, values in rows.items():
        p50, p90, p99 = np.percentile(values, [50, 90, 99])
        expected = {"P50": p50, "P90": p90, "P99": p99, "samples": len(values)}
        made.append(Case(name, (values,), expected, tolerance=(1e-9, 0)))
    return made


def run_report(function, args, case):
    return {key: float(value) if key != "samples" else int(value) for key, value in function(args[0].copy()).items()}


# ---- 06.02: a check in small. What was seen of a script, in order: ("clock", us), ("launch", name), ("wait", us).

_WARM = [("launch", "relu"), ("wait", 4.0)]


def detector_cases(seed, quick):
    loop = [("launch", "relu")] * 3
    each = [e for _ in range(3) for e in (("launch", "relu"), ("wait", 4.0))]
    seen = {
        "a good one": ([*_WARM, ("clock", 0.0), *loop, ("wait", 9.0), ("clock", 30.0)], []),
        "no warm-up": ([("clock", 0.0), *loop, ("wait", 9.0), ("clock", 20030.0)], ["first launch"]),
        "no wait": ([*_WARM, ("clock", 0.0), *loop, ("clock", 18.0)], ["no wait"]),
        "a wait behind each call": ([*_WARM, ("clock", 0.0), *each, ("clock", 36.0)], ["wait in the loop"]),
        "waits in the loop, none at the end": (
            [*_WARM, ("clock", 0.0), *each, ("launch", "relu"), ("clock", 36.0)],
            ["no wait", "wait in the loop"],
        ),
        "warmed up with something else": (
            [("launch", "gelu"), ("wait", 4.0), ("clock", 0.0), *loop, ("clock", 20030.0)],
            ["first launch", "no wait"],
        ),
        "one wait, in the middle": (
            [*_WARM, ("clock", 0.0), ("launch", "relu"), ("wait", 4.0), *loop, ("clock", 30.0)],
            ["no wait", "wait in the loop"],
        ),
        "two waits behind the last launch": (
            [*_WARM, ("clock", 0.0), *loop, ("wait", 9.0), ("wait", 0.5), ("clock", 30.0)],
            [],
        ),
        "one of two operators warmed up": (
            [*_WARM, ("clock", 0.0), *loop, ("launch", "gelu"), ("wait", 9.0), ("clock", 20030.0)],
            ["first launch"],
        ),
        "two operators, both warmed up": (
            [("launch", "relu"), ("launch", "gelu"), ("wait", 4.0), ("clock", 0.0)]
            + [("launch", "relu"), ("launch", "gelu"), ("wait", 9.0), ("clock", 30.0)],
            [],
        ),
        "launched again behind the second clock": (
            [("clock", 0.0), *loop, ("wait", 9.0), ("clock", 40.0), ("launch", "relu"), ("wait", 4.0)],
            ["first launch"],
        ),
        "the wait is behind the second clock": (
            [*_WARM, ("clock", 0.0), *loop, ("clock", 18.0), ("wait", 9.0)],
            ["no wait"],
        ),
        "a wait before the first launch": (
            [*_WARM, ("clock", 0.0), ("wait", 1.0), *loop, ("wait", 9.0), ("clock", 30.0)],
            ["wait in the loop"],
        ),
        "a good one that takes long": ([*_WARM, ("clock", 0.0), *loop, ("wait", 20000.0), ("clock", 20030.0)], []),
    }
    return [Case(name, (events,), expected) for name, (events, expected) in seen.items()]


def run_detector(function, args, case):
    return sorted(function(list(args[0])))


# ---- 06.07 and 06.08


def verdict_cases(seed, quick):
    rows = {
        "clearly slower": (1.04, 1.03, 1.05, "slower"),
        "sure, but too small to matter": (1.002, 1.001, 1.003, "same"),
        "large, but not sure": (1.06, 0.97, 1.15, "same"),
        "clearly faster": (0.90, 0.88, 0.92, "faster"),
        "faster by a hair": (0.997, 0.996, 0.998, "same"),
        "faster, and nearly up to 1": (0.98, 0.97, 0.997, "faster"),
        "faster, but not sure": (0.99, 0.97, 1.01, "same"),
        "exactly at the limit": (1.005, 1.004, 1.006, "slower"),
        "the interval begins at 1": (1.03, 1.0, 1.06, "same"),
        "the interval ends at 1": (0.97, 0.94, 1.0, "same"),
        "just below the limit": (1.0048, 1.003, 1.0066, "same"),
        "at the limit, faster": (0.995, 0.993, 0.997, "faster"),
        "the interval reaches further above": (1.004, 1.001, 1.02, "same"),
        "a coarse gate": (1.03, 1.02, 1.04, 0.05, "same"),
        "a coarse gate, much slower": (1.08, 1.06, 1.1, 0.05, "slower"),
        "a very coarse gate, faster": (0.82, 0.8, 0.84, 0.2, "same"),
        "a fine gate": (1.003, 1.002, 1.004, 0.002, "slower"),
    }
    return [Case(name, row[:-1], row[-1]) for name, row in rows.items()]


def holm_cases(seed, quick):
    rows = {
        "one clear": ([0.0001, 0.4, 0.2, 0.9], [True, False, False, False]),
        "the second needs less than the first": ([0.02, 0.004], [False, True]),
        "stops at the first that fails": ([0.001, 0.03, 0.0045], [True, False, True]),
        "none": ([0.3, 0.008, 0.9, 0.7], [False, False, False, False]),
        "behind a failure nothing counts": ([0.006, 0.006, 0.0001], [False, False, True]),
        "one alone": ([0.009], [True]),
        "equal to its limit": ([0.005, 0.4], [False, False]),
        "each below its own limit": ([0.0045, 0.002, 0.009, 0.003], [True, True, True, True]),
        "three of four": ([0.9, 0.0028, 0.002, 0.0024], [False, True, True, True]),
        "two are equal": ([0.001, 0.4, 0.001], [True, False, True]),
        "a higher level": ([0.02, 0.03, 0.001], 0.05, [True, True, True]),
        "a lower level": ([0.004, 0.0004], 0.001, [False, True]),
    }
    return [Case(name, row[:-1], row[-1]) for name, row in rows.items()]


def run_holm(function, args, case):
    return [bool(value) for value in function(list(args[0]), *args[1:])]


def alarms(count, level):
    """The chance of at least one false alarm in per cent."""
    return 100 * (1 - (1 - level / 100) ** count)


def samples_needed(spread, effect):
    """Samples a side for intervals of medians at 99 % that do not touch an effect: as the kit plans them."""
    return math.ceil(math.pi / 2 * (2.576 * spread / effect) ** 2)
